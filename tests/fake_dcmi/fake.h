/* The fake vendor library from inside: its hardware, its snapshot, and the gate of every call.
 *
 * hardware.c  the host: presets and chips; outlives every snapshot and is what scripts change
 * script.c    reads what a test writes, line by line
 * commands.c  the language of scripts: a line changes the hardware or how a call behaves
 * gate.c      what every call passes: overrides, delays, hangs, concurrency count, trace
 * snapshot.c  what dcmi_init remembers of the hardware, and the calls that only read that
 * answers.c   what one chip answers, the same for both generations
 * vnpus.c     the vNPUs of a chip
 * calls_*.c   the exported functions of both generations, one line each
 * events.c    subscription, delivery from a thread of its own, the pull
 * storm.c     events at an even pace, from a thread of its own
 * lingqu.c    the switches, and the functions of liblingqu-dcmi.so, which is this code once more
 * control.c   start of the library, and the socket by which a test talks to it
 *
 * One lock guards all of it. It is held from gate_enter to gate_leave, and given up while a call
 * is made to wait.
 */
#ifndef FAKE_H
#define FAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "dcmi_abi.h"

enum {
    MAX_CHIPS = 256,
    MAX_CODES = 160, /* more than a caller's 128, so that "does not fit" can happen */
    MAX_PROCESSES = 64,
    MAX_UTILISATION = 16,
    AFFINITY_SIZE = 32,
};

enum {
    OK = 0,
    BAD_PARAMETER = -8001,
    STRING_FAILED = -8004,
    INNER_ERROR = -8005,
    TIMED_OUT = -8006,
    NO_DEVICE = -8008,
    IOCTL_FAILED = -8009,
    NOT_READY = -8012,
    OCCUPIED = -8020,
    NOT_SUPPORTED = -8255,
};

enum api { API_NONE, API_V1, API_V2 };

#define NONE 0xFFFFFFFFu
#define AUTO INT64_MIN
#define STALE 0xDEADBEEFu /* what lies behind the valid part of a list; nobody may read it */
#define BIT(n) (1u << (n))

/* What all chips of a preset have in common. NULL, 0 or NONE: this chip does not serve it. */
struct family {
    const char *preset;
    enum api api;
    const char *chip_name, *npu_name, *product;
    unsigned int cores, board, mainboard, pci_device;
    unsigned int hbm_mib, ddr_mib, idle_mib;
    int npus, chips_per_card;
    unsigned int utilisation; /* bit n: utilisation type n is served */
    bool callbacks, multi_utilisation, affinity, topology, old_die, pci, partner, switches;
    bool cuttable; /* the driver can cut vNPUs out of a chip */
};

struct standing {
    unsigned int code;
    unsigned char severity;
    unsigned long long raised_ms;
};

struct vnpu {
    unsigned int id, used;
    char name[VDEV_NAME_LEN];
    unsigned long long container;
};

struct chip {
    int card, slot, phy;
    bool present;
    bool counted;  /* false: the host does not even know that something is missing */
    int from_init; /* the first init that finds it */
    long health;   /* AUTO: follows from the standing codes */
    long claimed;  /* error count to claim; AUTO: as many as stand */
    struct standing standing[MAX_CODES];
    int codes;
    struct dcmi_proc_mem_info processes[MAX_PROCESSES];
    int running;
    unsigned int used_mib;
    int temperature, boot_status, share;
    unsigned int utilisation[MAX_UTILISATION];
    struct vnpu vnpus[MAX_VDEV];
    int vnpu_count;
    long claimed_vnpus; /* as claimed */
};

struct hardware {
    const struct family *family;
    enum api api;
    bool callbacks, switches;
    struct chip chips[MAX_CHIPS]; /* in the order in which logic ids are given out */
    int count;
    int recover_mode, die_policy;
};

struct entry {
    struct chip *chip;
    int logic;
};

struct snapshot {
    bool taken;
    int inits;
    int cards[MAX_CARDS]; /* ascending; -1 for a card that did not come up */
    int card_count;
    struct entry entries[MAX_CHIPS];
    int count;
    bool unusable; /* a card did not come up */
};

/* How a call names its chip. */
enum addressing { NO_ADDRESS, BY_CARD, BY_SLOT, BY_LOGIC, BY_PHY };

struct call {
    const char *symbol;
    int first, second;
};

extern pthread_mutex_t lock;
extern struct hardware hardware;
extern struct snapshot snapshot;

/* hardware.c */
bool hardware_install(const char *preset, int npus);
struct chip *hardware_add(int card, int slot, int phy);
struct chip *hardware_at(int card, int slot);
struct chip *hardware_first(int card);
struct chip *hardware_phy(int phy);
void chip_raise(struct chip *chip, unsigned int code, unsigned char severity);
unsigned long long chip_raised_ms(struct chip *chip, unsigned int code);
unsigned long long chip_clear(struct chip *chip, unsigned int code);
unsigned int chip_health(const struct chip *chip);

/* script.c */
void script_start(const char *directory);
void script_apply(char *text);
void script_catch_up(void);
void script_record(const char *line);
void script_trace(bool on);
const char *script_error(void);

/* commands.c */
bool command_run(char **words, int count);

/* gate.c */
struct override {
    char symbol[64]; /* a shell pattern */
    int phy;         /* -1: every chip, and calls for none */
    int rc, delay_ms;
    bool hang;
    int after, times; /* the first *after* calls pass; then *times* are caught, -1: all */
};
bool gate_override(const struct override *override);
void gate_release(const char *symbol, int phy);
void gate_clear(void);
void gate_trace(const char *path);
void gate_statistics(char *text, size_t size);
int gate_enter(struct call *call, const char *symbol, enum addressing how, int first, int second);
int gate_leave(const struct call *call, int rc);
int begin_host(struct call *call, const char *symbol);
int begin_chip(struct call *call, const char *symbol, enum addressing how, int first, int second,
               int lost, struct chip **chip);
int unsupported(const char *symbol, enum addressing how, int first, int second);

/* snapshot.c */
struct entry *snapshot_find(enum addressing how, int first, int second);
int snapshot_logic(const struct chip *chip);

/* answers.c */
int answer_text(char *out, int size, int least, const char *text);
int answer_number(unsigned int *out, unsigned int value);
int answer_chip(struct dcmi_chip_info_v2 *out);
int answer_chip_old(struct dcmi_chip_info *out);
int answer_board(const struct chip *chip, struct dcmi_board_info *out);
int answer_mainboard(unsigned int *out);
int answer_product(char *out, int size);
int answer_die(const struct chip *chip, enum dcmi_die_type type, struct dcmi_die_id *out);
int answer_pci(const struct chip *chip, struct dcmi_pcie_info_all *out);
int answer_elabel(const struct chip *chip, struct dcmi_elabel_info *out);
int answer_hbm(const struct chip *chip, struct dcmi_hbm_info *out);
int answer_ddr(const struct chip *chip, struct dcmi_get_memory_info_stru *out);
int answer_utilisation(const struct chip *chip, int type, unsigned int *out);
int answer_multi(const struct chip *chip, struct dcmi_multi_utilization_info *out);
int answer_frequency(enum dcmi_freq_type type, unsigned int *out);
int answer_temperature(const struct chip *chip, int *out);
int answer_power(int *out);
int answer_ecc(enum dcmi_device_type type, struct dcmi_ecc_info *out);
int answer_processes(const struct chip *chip, struct dcmi_proc_mem_info *out, int *count);
int answer_codes(const struct chip *chip, int *count, unsigned int *list, unsigned int size);
int answer_boot(const struct chip *chip, enum dcmi_boot_status *out);
int answer_share(const struct chip *chip, unsigned int *out);
int change_share(struct chip *chip, unsigned int value);
int answer_info(struct chip *chip, enum dcmi_main_cmd main, unsigned int sub, void *out,
                unsigned int *size);
int change_info(struct chip *chip, enum dcmi_main_cmd main, unsigned int sub, const void *value,
                unsigned int size);
int answer_affinity(const struct chip *chip, char *out, int *length);
int answer_topology(const struct chip *one, const struct chip *other, int *out);

/* vnpus.c */
bool vnpu_put(struct chip *chip, const struct vnpu *vnpu);
bool vnpu_take(struct chip *chip, unsigned int id);
int answer_vnpus(struct chip *chip, unsigned int sub, void *out, unsigned int *size);
int change_vnpus(struct chip *chip, unsigned int id);

/* events.c */
struct occasion { /* one event, as a script asks for it */
    struct chip *chip;
    unsigned int type, code;
    unsigned char severity, assertion, node;
    int serial, notify;
    unsigned long long raised_ms;
    const char *name;
    bool unnoted; /* nobody asks when it was raised */
};
void events_raise(const struct occasion *occasion);
void events_note_time(void);
void events_times(uint64_t *first_ns, uint64_t *last_ns);
bool events_subscribed(void);
int events_delivered(void);
int events_subscribe(int logic, struct dcmi_event_filter filter,
                     void (*handler)(struct dcmi_event *));
int events_pull(int logic, int timeout_ms, struct dcmi_event_filter filter,
                struct dcmi_event *out);
int events_standing(const struct chip *chip, struct dcmi_event *out, int size, int *count);

/* storm.c */
bool storm_blow(int phy, unsigned int code, int pause_us);

/* lingqu.c */
void switches_raise(const struct LqDcmiEvent *event, bool quiet);
bool switches_subscribed(void);

uint64_t monotonic_ns(void);

#endif
