/* Start of the library, and the socket by which a test reaches this very process.
 *
 * FAKE_DCMI_MODEL  script lines, separated by semicolons, applied first
 * FAKE_DCMI_DIR    directory of the fake host: ``script`` (read at start and whenever it grows),
 *                  ``trace``, and one datagram socket a process, ``<pid>.sock``; that of
 *                  liblingqu-dcmi.so is ``<pid>.lingqu.sock``
 *
 * Datagrams: ``sync`` (apply the script now; answers when the events in it were raised),
 * ``statistics``, ``noise`` (print, as a careless library does), ``crash``, ``exit CODE``.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int control_socket = -1;

static void apply_model(void)
{
    const char *model = getenv("FAKE_DCMI_MODEL");
    char *copy = model ? strdup(model) : NULL;
    if (copy)
        script_apply(copy);
    free(copy);
}

static void answer_sync(char *text, size_t size)
{
    uint64_t first_ns, last_ns;
    script_catch_up();
    const char *error = script_error();
    events_times(&first_ns, &last_ns);
    if (*error)
        snprintf(text, size, "error %s", error);
    else
        snprintf(text, size, "ok %llu %llu %d", (unsigned long long)first_ns,
                 (unsigned long long)last_ns, events_subscribed() || switches_subscribed());
}

static void make_noise(void)
{
    static const char text[] = "[dcmi] a careless library prints\n";
    if (write(STDOUT_FILENO, text, sizeof text - 1) < 0 ||
        write(STDERR_FILENO, text, sizeof text - 1) < 0)
        return;
}

static void obey(const char *order, char *text, size_t size)
{
    snprintf(text, size, "ok");
    if (!strcmp(order, "crash"))
        abort();
    if (!strncmp(order, "exit ", 5))
        _exit(atoi(order + 5));
    if (!strcmp(order, "noise"))
        make_noise();
    else if (!strcmp(order, "statistics"))
        gate_statistics(text, size);
    else if (!strcmp(order, "sync"))
        answer_sync(text, size);
    else
        snprintf(text, size, "error unknown order: %.60s", order);
}

static void *serve(void *unused)
{
    (void)unused;
    for (;;) {
        char order[128], text[256];
        struct sockaddr_un from;
        socklen_t length = sizeof from;
        ssize_t got = recvfrom(control_socket, order, sizeof order - 1, 0,
                               (struct sockaddr *)&from, &length);
        if (got < 0)
            continue;
        order[got] = '\0';
        pthread_mutex_lock(&lock);
        obey(order, text, sizeof text);
        pthread_mutex_unlock(&lock);
        sendto(control_socket, text, strlen(text), 0, (struct sockaddr *)&from, length);
    }
    return NULL;
}

/* Return whether this code was loaded as the library of the switches. */
static bool of_switches(void)
{
    Dl_info here;
    return dladdr(&control_socket, &here) && here.dli_fname && strstr(here.dli_fname, "lingqu");
}

static bool open_control(const char *directory)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/%d%s.sock", directory,
                          (int)getpid(), of_switches() ? ".lingqu" : "");
    if (length >= (int)sizeof address.sun_path)
        return false;
    unlink(address.sun_path);
    control_socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return control_socket >= 0 &&
           !bind(control_socket, (struct sockaddr *)&address, sizeof address);
}

/* The socket first, then the script: what is appended in between is told by both.
 * What the script held already was raised in another process's time: nobody's answer tells of it.
 */
__attribute__((constructor)) static void start(void)
{
    uint64_t first_ns, last_ns;
    pthread_t thread;
    const char *directory = getenv("FAKE_DCMI_DIR");

    hardware_install("910B3", -1);
    apply_model();
    if (!directory || !*directory)
        return;
    bool reachable = open_control(directory);
    script_start(directory);
    script_catch_up();
    events_times(&first_ns, &last_ns);
    if (!reachable || pthread_create(&thread, NULL, serve, NULL))
        return;
    pthread_setname_np(thread, "fake-control");
    pthread_detach(thread);
}
