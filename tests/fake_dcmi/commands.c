/* The language of scripts: one line, one change of the hardware or of how a call behaves.
 *
 *   preset NAME [NPUS]                 replace the host; NPUS 0: none, ``place`` them
 *   place CARD SLOT PHY                one more chip; its place in the script is its logic id
 *   api v1|v2|none                     the generation that works
 *   callbacks on|off                   whether the subscription works
 *   drop CARD, return CARD             the hardware goes and comes; listed so by the next init
 *   remove CARD                        goes, and the next init leaves it out instead of counting it
 *   late CARD N                        the first N inits don't find it
 *   event PHY CODE ASSERTION [severity=N type=N node=N serial=N notify=N time=MS name=T quiet]
 *                                      raise, clear (0) or notice (2) a code, and tell about it;
 *                                      quiet: tell only, what stands stays as it is
 *   burst PHY CODE COUNT               COUNT events of one code, raised and cleared in turn
 *   storm PHY CODE MICROSECONDS        one event of one code so often, raised and cleared in turn,
 *                                      until another storm; 0: none
 *   switches on|off                    whether the library of the switches finds any
 *   switch CHIP PORT PEER EVENT ASSERTION [sub=N peer_port=N severity=N time=MS quiet]
 *                                      raise, clear (0) or notice (2) a fault of a switch: EVENT is
 *                                      hexadecimal, PEER 0 CPU, 1 NPU, 2 L2, PORT 65535 the chip;
 *                                      quiet: nobody is told
 *   codes PHY [CODE...]                what stands, told to nobody
 *   claim PHY COUNT|auto               the error count that the code query claims, rc 0
 *   health PHY VALUE|auto              auto: the worst standing severity
 *   processes PHY [PID:BYTES...]       used PHY MIB            temperature PHY CELSIUS
 *   utilisation PHY TYPE PERCENT       boot PHY STATUS         share PHY 0|1
 *   vnpu PHY ID TEMPLATE [used=0|1 container=N]  a vNPU is there, or has changed so
 *   vnpu PHY ID gone                   it is there no more
 *   vnpus PHY COUNT|auto               how many the chip claims to have
 *   rc SYMBOL PHY|* CODE [after=N times=N]      answer CODE and write nothing
 *   delay SYMBOL PHY|* MS [after=N times=N]     answer late
 *   hang SYMBOL PHY|* [after=N times=N]         answer when released
 *   release [SYMBOL PHY|*]             as it was scripted; alone: whatever hangs
 *   clear                              forget all rc, delay and hang
 *   trace on|off                       each call into the file ``trace`` beside the script
 *
 * SYMBOL is a shell pattern, CODE of a fault hexadecimal, everything else decimal. A process that
 * starts later applies the script from its beginning: the script is the memory of the hardware.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef bool handler(char **words, int count);

static struct chip *chip_of(const char *word)
{
    return hardware_phy(atoi(word));
}

/* Return the value of the option *key*=... among *words*, or *otherwise*. */
static const char *option(char **words, int count, const char *key, const char *otherwise)
{
    size_t length = strlen(key);
    for (int i = 0; i < count; i++)
        if (!strncmp(words[i], key, length) && words[i][length] == '=')
            return words[i] + length + 1;
    return otherwise;
}

static int number(char **words, int count, const char *key, const char *otherwise)
{
    return atoi(option(words, count, key, otherwise));
}

static bool flag(char **words, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(words[i], name))
            return true;
    return false;
}

static bool do_preset(char **words, int count)
{
    return hardware_install(words[1], count > 2 ? atoi(words[2]) : -1);
}

static bool do_place(char **words, int count)
{
    (void)count;
    return hardware_add(atoi(words[1]), atoi(words[2]), atoi(words[3])) != NULL;
}

static bool do_api(char **words, int count)
{
    (void)count;
    hardware.api = !strcmp(words[1], "v1") ? API_V1 : !strcmp(words[1], "v2") ? API_V2 : API_NONE;
    return true;
}

static bool do_callbacks(char **words, int count)
{
    (void)count;
    hardware.callbacks = !strcmp(words[1], "on");
    return true;
}

static bool do_switches(char **words, int count)
{
    (void)count;
    hardware.switches = !strcmp(words[1], "on");
    return true;
}

static bool do_presence(char **words, int count)
{
    bool found = false;
    (void)count;
    for (int i = 0; i < hardware.count; i++)
        if (hardware.chips[i].card == atoi(words[1])) {
            hardware.chips[i].present = !strcmp(words[0], "return");
            hardware.chips[i].counted = strcmp(words[0], "remove") != 0;
            found = true;
        }
    return found;
}

static bool do_late(char **words, int count)
{
    bool found = false;
    (void)count;
    for (int i = 0; i < hardware.count; i++)
        if (hardware.chips[i].card == atoi(words[1])) {
            hardware.chips[i].from_init = atoi(words[2]) + 1;
            found = true;
        }
    return found;
}

static void tell(struct occasion *occasion, bool quiet)
{
    struct chip *chip = occasion->chip;
    unsigned long long raised_ms = occasion->raised_ms;

    if (!quiet && occasion->assertion == 1)
        chip_raise(chip, occasion->code, occasion->severity);
    unsigned long long known_ms = occasion->assertion == 0 && !quiet
                                      ? chip_clear(chip, occasion->code)
                                      : chip_raised_ms(chip, occasion->code);
    occasion->raised_ms = raised_ms ? raised_ms : known_ms;
    events_raise(occasion);
    occasion->raised_ms = raised_ms;
}

static bool do_event(char **words, int count)
{
    struct occasion occasion = {
        .chip = chip_of(words[1]),
        .code = (unsigned int)strtoul(words[2], NULL, 16),
        .assertion = (unsigned char)atoi(words[3]),
        .severity = (unsigned char)number(words, count, "severity", "2"),
        .type = (unsigned int)number(words, count, "type", "0"),
        .node = (unsigned char)number(words, count, "node", "64"),
        .serial = number(words, count, "serial", "0"),
        .notify = number(words, count, "notify", "0"),
        .raised_ms = strtoull(option(words, count, "time", "0"), NULL, 10),
        .name = option(words, count, "name", "fake fault"),
    };
    if (!occasion.chip)
        return false;
    tell(&occasion, flag(words, count, "quiet"));
    return true;
}

static bool do_switch(char **words, int count)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const char *time = option(words, count, "time", NULL);
    const char *sub = option(words, count, "sub", NULL);
    struct LqDcmiEvent event = {
        .switchChipid = (unsigned short)atoi(words[1]),
        .switchPortid = (unsigned short)atoi(words[2]),
        .peerportDevice = (unsigned short)atoi(words[3]),
        .peerportId = (unsigned short)number(words, count, "peer_port", words[2]),
        .eventType = (unsigned int)strtoul(words[4], NULL, 16),
        .subType = sub ? (unsigned int)strtoul(sub, NULL, 10) : NONE,
        .severity = (unsigned char)number(words, count, "severity", "2"),
        .assertion = (unsigned char)atoi(words[5]),
        .alarmRaisedTime = time ? strtoul(time, NULL, 10)
                                : (unsigned long)now.tv_sec * 1000 + now.tv_nsec / 1000000,
    };
    switches_raise(&event, flag(words, count, "quiet"));
    return true;
}

static bool do_burst(char **words, int count)
{
    struct occasion occasion = {.chip = chip_of(words[1]), .node = 64, .severity = 2,
                                .code = (unsigned int)strtoul(words[2], NULL, 16),
                                .name = "fake fault"};
    (void)count;
    if (!occasion.chip)
        return false;
    for (int i = 0; i < atoi(words[3]); i++) {
        occasion.assertion = i % 2 == 0;
        tell(&occasion, false);
    }
    return true;
}

static bool do_storm(char **words, int count)
{
    (void)count;
    return chip_of(words[1]) && atoi(words[3]) >= 0 &&
           storm_blow(atoi(words[1]), (unsigned int)strtoul(words[2], NULL, 16), atoi(words[3]));
}

static bool do_codes(char **words, int count)
{
    struct chip *chip = chip_of(words[1]);
    if (!chip || count - 2 > MAX_CODES)
        return false;
    chip->codes = 0;
    for (int i = 2; i < count; i++)
        chip_raise(chip, (unsigned int)strtoul(words[i], NULL, 16), 2);
    return true;
}

static bool do_processes(char **words, int count)
{
    struct chip *chip = chip_of(words[1]);
    if (!chip || count - 2 > MAX_PROCESSES)
        return false;
    chip->running = 0;
    for (int i = 2; i < count; i++) {
        struct dcmi_proc_mem_info *process = &chip->processes[chip->running++];
        memset(process, 0, sizeof *process);
        if (sscanf(words[i], "%d:%lu", &process->proc_id, &process->proc_mem_usage) != 2)
            return false;
    }
    return true;
}

static bool do_utilisation(char **words, int count)
{
    struct chip *chip = chip_of(words[1]);
    int type = atoi(words[2]);
    (void)count;
    if (!chip || type < 0 || type >= MAX_UTILISATION)
        return false;
    chip->utilisation[type] = (unsigned int)atoi(words[3]);
    return true;
}

/* One number of one chip. */
static bool do_number(char **words, int count)
{
    struct chip *chip = chip_of(words[1]);
    long value = strcmp(words[2], "auto") ? strtol(words[2], NULL, 10) : AUTO;
    (void)count;
    if (!chip)
        return false;
    if (!strcmp(words[0], "claim"))
        chip->claimed = value;
    else if (!strcmp(words[0], "vnpus"))
        chip->claimed_vnpus = value;
    else if (!strcmp(words[0], "health"))
        chip->health = value;
    else if (!strcmp(words[0], "used"))
        chip->used_mib = (unsigned int)value;
    else if (!strcmp(words[0], "temperature"))
        chip->temperature = (int)value;
    else if (!strcmp(words[0], "boot"))
        chip->boot_status = (int)value;
    else
        chip->share = (int)value;
    return true;
}

static bool do_vnpu(char **words, int count)
{
    struct chip *chip = chip_of(words[1]);
    struct vnpu vnpu = {.id = (unsigned int)atoi(words[2]),
                        .used = (unsigned int)number(words, count, "used", "0"),
                        .container = strtoull(option(words, count, "container", "0"), NULL, 10)};
    if (!chip)
        return false;
    if (!strcmp(words[3], "gone")) {
        vnpu_take(chip, vnpu.id);
        return true;
    }
    memcpy(vnpu.name, words[3], strnlen(words[3], sizeof vnpu.name)); /* may fill the field */
    return vnpu_put(chip, &vnpu);
}

static int any_or_phy(const char *word)
{
    return strcmp(word, "*") ? atoi(word) : -1;
}

static bool do_override(char **words, int count)
{
    struct override override = {.phy = any_or_phy(words[2]),
                                .after = number(words, count, "after", "0"),
                                .times = number(words, count, "times", "-1"),
                                .hang = !strcmp(words[0], "hang")};
    strncpy(override.symbol, words[1], sizeof override.symbol - 1);
    if (!override.hang && count < 4)
        return false;
    if (!strcmp(words[0], "rc"))
        override.rc = atoi(words[3]);
    if (!strcmp(words[0], "delay"))
        override.delay_ms = atoi(words[3]);
    return gate_override(&override);
}

static bool do_release(char **words, int count)
{
    if (count == 2)
        return false;
    gate_release(count > 2 ? words[1] : "", count > 2 ? any_or_phy(words[2]) : -1);
    return true;
}

static bool do_clear(char **words, int count)
{
    (void)words, (void)count;
    gate_clear();
    return true;
}

static bool do_trace(char **words, int count)
{
    (void)count;
    script_trace(!strcmp(words[1], "on"));
    return true;
}

static const struct {
    const char *word;
    int least; /* words, the command's own included */
    handler *run;
} COMMANDS[] = {
    {"preset", 2, do_preset},      {"place", 4, do_place},       {"api", 2, do_api},
    {"callbacks", 2, do_callbacks}, {"drop", 2, do_presence},    {"return", 2, do_presence},
    {"remove", 2, do_presence},
    {"late", 3, do_late},          {"event", 4, do_event},       {"burst", 4, do_burst},
    {"storm", 4, do_storm},
    {"switches", 2, do_switches},  {"switch", 6, do_switch},
    {"codes", 2, do_codes},        {"claim", 3, do_number},      {"health", 3, do_number},
    {"processes", 2, do_processes}, {"used", 3, do_number},      {"temperature", 3, do_number},
    {"utilisation", 4, do_utilisation}, {"boot", 3, do_number},  {"share", 3, do_number},
    {"vnpu", 4, do_vnpu},          {"vnpus", 3, do_number},
    {"rc", 4, do_override},        {"delay", 4, do_override},    {"hang", 3, do_override},
    {"release", 1, do_release},    {"clear", 1, do_clear},       {"trace", 2, do_trace},
};

/* Do one line, taken apart; false: it can't be done. */
bool command_run(char **words, int count)
{
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
        if (!strcmp(COMMANDS[i].word, words[0]))
            return count >= COMMANDS[i].least && COMMANDS[i].run(words, count);
    return false;
}
