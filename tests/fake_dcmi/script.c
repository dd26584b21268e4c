/* Scripts: read from the start when the library is loaded, and then whenever they grow.
 *
 * The script is the memory of the hardware, shared by every process on the host. What a line
 * means is told in commands.c.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_WORDS = 200, MAX_PATH = 512 };

static char script_path[MAX_PATH], trace_path[MAX_PATH], complaint[160];
static int script_file = -1;
static off_t applied;

static void apply_line(char *line)
{
    char *words[MAX_WORDS], *rest = NULL, copy[80];
    int count = 0;

    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok_r(line, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        if (count < MAX_WORDS)
            words[count++] = word;
    if (count && *words[0] != '#' && !command_run(words, count))
        snprintf(complaint, sizeof complaint, "can't be done: %s", copy);
}

/* Apply lines separated by newlines or semicolons; the text is taken apart. */
void script_apply(char *text)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n;", &rest); line; line = strtok_r(NULL, "\n;", &rest))
        apply_line(line);
}

void script_start(const char *directory)
{
    snprintf(script_path, sizeof script_path, "%s/script", directory);
    snprintf(trace_path, sizeof trace_path, "%s/trace", directory);
    script_file = open(script_path, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
}

void script_trace(bool on)
{
    gate_trace(on && *trace_path ? trace_path : NULL);
}

/* Apply what the script has grown by, as far as whole lines go. */
void script_catch_up(void)
{
    struct stat state;
    if (script_file < 0 || fstat(script_file, &state) || state.st_size <= applied)
        return;
    size_t size = (size_t)(state.st_size - applied);
    char *text = malloc(size + 1);
    if (!text)
        return;
    ssize_t got = pread(script_file, text, size, applied);
    char *end = got > 0 ? memrchr(text, '\n', (size_t)got) : NULL;
    if (end) {
        *end = '\0';
        applied += end - text + 1;
        script_apply(text);
    }
    free(text);
}

/* Append what a call changed, so that the next process finds the hardware as this one left it. */
void script_record(const char *line)
{
    int file = *script_path ? open(script_path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    if (write(file, line, strlen(line)) < 0)
        snprintf(complaint, sizeof complaint, "the script can't be extended");
    close(file);
}

/* Return the newest complaint and forget it; empty when every line could be done. */
const char *script_error(void)
{
    static char taken[sizeof complaint];
    memcpy(taken, complaint, sizeof taken);
    *complaint = '\0';
    return taken;
}
