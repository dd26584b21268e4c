/* What every call passes: scripted return codes, delays and hangs, the counts, the trace. */
#define _GNU_SOURCE
#include "fake.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static struct override overrides[64];
static int override_count;
static long releases; /* grows with each release, so that a waiting call sees one */
static int in_flight, most_in_flight, overlaps, calls;
static bool initialising;
static int trace_file = -1;

uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool gate_override(const struct override *override)
{
    if (override_count == sizeof overrides / sizeof *overrides)
        return false;
    overrides[override_count++] = *override;
    return true;
}

/* Let go what hangs at *symbol* (as it was scripted) on *phy*; an empty symbol lets all go. */
void gate_release(const char *symbol, int phy)
{
    int kept = 0;
    for (int i = 0; i < override_count; i++) {
        bool match = !*symbol || (!strcmp(overrides[i].symbol, symbol) && overrides[i].phy == phy);
        if (!overrides[i].hang || !match)
            overrides[kept++] = overrides[i];
    }
    override_count = kept;
    releases++;
    pthread_cond_broadcast(&released);
}

void gate_clear(void)
{
    override_count = 0;
    releases++;
    pthread_cond_broadcast(&released);
}

void gate_trace(const char *path)
{
    if (trace_file >= 0)
        close(trace_file);
    trace_file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
}

void gate_statistics(char *text, size_t size)
{
    snprintf(text, size, "calls=%d in_flight=%d most_in_flight=%d overlaps=%d inits=%d "
             "subscribed=%d delivered=%d", calls, in_flight, most_in_flight, overlaps,
             snapshot.inits, events_subscribed(), events_delivered());
}

static const struct chip *addressed(enum addressing how, int first, int second)
{
    switch (how) {
    case BY_CARD:
        return hardware_first(first);
    case BY_SLOT:
        return hardware_at(first, second);
    case BY_PHY:
        return hardware_phy(first);
    case BY_LOGIC: {
        struct entry *entry = snapshot_find(BY_LOGIC, first, 0);
        return entry ? entry->chip : NULL;
    }
    default:
        return NULL;
    }
}

static bool concerns(const struct override *override, const char *symbol, int phy)
{
    return (override->phy < 0 || override->phy == phy) && !fnmatch(override->symbol, symbol, 0);
}

/* Return the first override that catches this call, counting it. */
static bool caught(const char *symbol, int phy, struct override *found)
{
    for (int i = 0; i < override_count; i++) {
        struct override *override = &overrides[i];
        if (!concerns(override, symbol, phy))
            continue;
        if (override->after > 0) {
            override->after--;
            continue;
        }
        if (override->times == 0)
            continue;
        if (override->times > 0)
            override->times--;
        *found = *override;
        return true;
    }
    return false;
}

static bool still_hangs(const struct override *override)
{
    for (int i = 0; i < override_count; i++)
        if (overrides[i].hang && overrides[i].phy == override->phy &&
            !strcmp(overrides[i].symbol, override->symbol))
            return true;
    return false;
}

static void wait_release(const struct override *override)
{
    while (still_hangs(override)) {
        long seen = releases;
        while (seen == releases)
            pthread_cond_wait(&released, &lock);
    }
}

static void wait_ms(int ms)
{
    struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
    pthread_mutex_unlock(&lock);
    nanosleep(&time, NULL);
    pthread_mutex_lock(&lock);
}

static bool is_init(const char *symbol)
{
    return !strcmp(symbol, "dcmi_init") || !strcmp(symbol, "dcmiv2_init");
}

/* Take the lock; return 0, or what a script wants this call to answer. Ends in gate_leave. */
int gate_enter(struct call *call, const char *symbol, enum addressing how, int first, int second)
{
    struct override override;

    pthread_mutex_lock(&lock);
    script_catch_up();
    *call = (struct call){symbol, first, second};
    calls++;
    if (is_init(symbol) ? in_flight > 0 : initialising)
        overlaps++;
    if (is_init(symbol))
        initialising = true;
    if (++in_flight > most_in_flight)
        most_in_flight = in_flight;
    const struct chip *chip = addressed(how, first, second);
    if (!caught(symbol, chip ? chip->phy : -1, &override))
        return OK;
    if (override.hang)
        wait_release(&override);
    if (override.delay_ms)
        wait_ms(override.delay_ms);
    return override.rc;
}

/* Trace line: monotonic ns, process, symbol, two address numbers, rc, calls in flight, overlaps. */
int gate_leave(const struct call *call, int rc)
{
    if (trace_file >= 0) {
        char line[192];
        int length = snprintf(line, sizeof line, "%llu %d %s %d %d %d %d %d\n",
                              (unsigned long long)monotonic_ns(), (int)getpid(), call->symbol,
                              call->first, call->second, rc, in_flight, overlaps);
        if (write(trace_file, line, (size_t)length) != length)
            gate_trace(NULL);
    }
    if (is_init(call->symbol))
        initialising = false;
    in_flight--;
    pthread_mutex_unlock(&lock);
    return rc;
}

static bool of_this_host(const char *symbol)
{
    return hardware.api == (strncmp(symbol, "dcmiv2_", 7) ? API_V1 : API_V2);
}

/* A call for the whole host: served by the host's own generation alone. */
int begin_host(struct call *call, const char *symbol)
{
    int rc = gate_enter(call, symbol, NO_ADDRESS, -1, -1);
    return rc != OK ? rc : of_this_host(symbol) ? OK : NOT_SUPPORTED;
}

/* A call for one chip of the snapshot; *lost* is its answer when the hardware is gone. */
int begin_chip(struct call *call, const char *symbol, enum addressing how, int first, int second,
               int lost, struct chip **chip)
{
    int rc = gate_enter(call, symbol, how, first, second);
    if (rc != OK)
        return rc;
    if (!of_this_host(symbol))
        return NOT_SUPPORTED;
    struct entry *entry = snapshot_find(how, first, second);
    if (!entry)
        return BAD_PARAMETER;
    *chip = entry->chip;
    return entry->chip->present ? OK : lost;
}

/* What every function answers that the fake exports and does not implement. */
int unsupported(const char *symbol, enum addressing how, int first, int second)
{
    struct call call;
    int rc = gate_enter(&call, symbol, how, first, second);
    return gate_leave(&call, rc != OK ? rc : NOT_SUPPORTED);
}
