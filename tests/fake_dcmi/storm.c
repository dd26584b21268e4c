/* A storm: one code of one chip, raised and cleared in turn at an even pace by a thread of its own.
 *
 * Its events have no share in the times that a test is told of what it raised itself.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <time.h>

enum { NS_PER_S = 1000000000 };

static pthread_t thread;
static bool running;
static int phy, every_us;
static unsigned int code;

static void blow(bool raised)
{
    struct chip *chip = hardware_phy(phy);
    if (!chip)
        return;
    struct occasion occasion = {.chip = chip, .node = 64, .severity = 2, .code = code,
                                .assertion = raised, .name = "fake storm", .unnoted = true};
    if (raised)
        chip_raise(chip, code, occasion.severity);
    occasion.raised_ms = raised ? chip_raised_ms(chip, code) : chip_clear(chip, code);
    events_raise(&occasion);
}

/* The moments are fixed, so that one which comes late delays none of the others. */
static void *storm(void *unused)
{
    struct timespec next;
    bool raised = false;
    (void)unused;
    clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&lock);
    while (every_us) {
        blow(raised = !raised);
        long ns = next.tv_nsec + every_us * 1000L;
        next.tv_sec += ns / NS_PER_S;
        next.tv_nsec = ns % NS_PER_S;
        pthread_mutex_unlock(&lock);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        pthread_mutex_lock(&lock);
    }
    running = false;
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Begin, change or, with no pause between two events, end the storm; false: no thread. */
bool storm_blow(int on_phy, unsigned int with_code, int pause_us)
{
    phy = on_phy;
    code = with_code;
    every_us = pause_us;
    if (running || !every_us)
        return true;
    if (pthread_create(&thread, NULL, storm, NULL))
        return false;
    pthread_setname_np(thread, "fake-storm");
    pthread_detach(thread);
    return running = true;
}
