/* Fault events: one subscription a process, delivered by a thread of its own, and the pull. */
#define _GNU_SOURCE
#include "fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FILTER_ID = 1, FILTER_SEVERITY = 2, FILTER_NODE = 4, FOR_EVER = -1 };

struct queued {
    struct queued *next;
    struct dcmi_event event; /* nothing may follow it: a long read must leave the allocation */
};

struct waiting { /* one call of the pull */
    struct waiting *next;
    int logic;
    struct dcmi_event_filter filter;
    struct dcmi_event *out;
    bool served;
};

static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static pthread_cond_t pulled = PTHREAD_COND_INITIALIZER;
static struct queued *first, **last = &first;
static struct waiting *waiting;
static struct dcmi_event_filter wanted;
static void (*deliver)(struct dcmi_event *);
static int wanted_logic = -1, delivered, serial;
static uint64_t first_ns, last_ns;

static bool passes(const struct dcmi_event_filter *filter, int logic,
                   const struct dcmi_event *event)
{
    const struct dcmi_dms_fault_event *body = &event->event_t.dms_event;
    if (logic >= 0 && logic != body->deviceid)
        return false;
    if ((filter->filter_flag & FILTER_ID) && filter->event_id != body->event_id)
        return false;
    if ((filter->filter_flag & FILTER_SEVERITY) && body->severity < filter->severity)
        return false;
    return !(filter->filter_flag & FILTER_NODE) || filter->node_type == body->node_type;
}

static void compose(struct dcmi_event *event, const struct occasion *occasion, int logic)
{
    memset(event, 0, sizeof *event);
    struct dcmi_dms_fault_event *body = &event->event_t.dms_event;
    event->type = occasion->type;
    body->event_id = occasion->code;
    body->deviceid = (unsigned short)logic;
    body->node_type = occasion->node;
    body->severity = occasion->severity;
    body->assertion = occasion->assertion;
    body->event_serial_num = occasion->serial ? occasion->serial : ++serial;
    body->notify_serial_num = occasion->notify ? occasion->notify : serial;
    body->alarm_raised_time = occasion->raised_ms;
    strncpy(body->event_name, occasion->name, sizeof body->event_name - 1);
}

void events_note_time(void)
{
    last_ns = monotonic_ns();
    if (!first_ns)
        first_ns = last_ns;
}

/* Hand an event to whoever wants it. A chip that is in no snapshot has no logic id to carry. */
void events_raise(const struct occasion *occasion)
{
    struct dcmi_event event;
    int logic = snapshot_logic(occasion->chip);

    if (!occasion->unnoted)
        events_note_time();
    if (logic < 0)
        return;
    compose(&event, occasion, logic);
    for (struct waiting *each = waiting; each; each = each->next) {
        if (each->served || !passes(&each->filter, each->logic, &event))
            continue;
        *each->out = event;
        each->served = true;
        pthread_cond_broadcast(&pulled);
    }
    if (!deliver || !passes(&wanted, wanted_logic, &event))
        return;
    struct queued *queued = malloc(sizeof *queued);
    if (!queued)
        abort();
    *queued = (struct queued){NULL, event};
    *last = queued;
    last = &queued->next;
    pthread_cond_signal(&arrived);
}

/* When the events since the last question were raised; zero without any. */
void events_times(uint64_t *from_ns, uint64_t *to_ns)
{
    *from_ns = first_ns;
    *to_ns = first_ns ? last_ns : 0;
    first_ns = last_ns = 0;
}

bool events_subscribed(void)
{
    return deliver != NULL;
}

int events_delivered(void)
{
    return delivered;
}

/* The library's thread. The event is overwritten afterwards: who keeps the pointer reads rubbish. */
static void *deliver_events(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!first)
            pthread_cond_wait(&arrived, &lock);
        struct queued *queued = first;
        first = queued->next;
        if (!first)
            last = &first;
        pthread_mutex_unlock(&lock);
        deliver(&queued->event);
        memset(&queued->event, 0xDD, sizeof queued->event);
        free(queued);
        pthread_mutex_lock(&lock);
        delivered++;
    }
    return NULL;
}

int events_subscribe(int logic, struct dcmi_event_filter filter,
                     void (*handler)(struct dcmi_event *))
{
    pthread_t thread;
    if (!hardware.callbacks)
        return NOT_SUPPORTED;
    if (!snapshot.taken)
        return INNER_ERROR;
    if (!handler)
        return BAD_PARAMETER;
    if (deliver || waiting)
        return OCCUPIED;
    if (pthread_create(&thread, NULL, deliver_events, NULL))
        return INNER_ERROR;
    pthread_setname_np(thread, "fake-events");
    pthread_detach(thread);
    wanted = filter;
    wanted_logic = logic;
    deliver = handler;
    return OK;
}

static void wait_event(struct waiting *self, int timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!self->served)
        if (timeout_ms == FOR_EVER)
            pthread_cond_wait(&pulled, &lock);
        else if (pthread_cond_timedwait(&pulled, &lock, &until) == ETIMEDOUT)
            return;
}

int events_pull(int logic, int timeout_ms, struct dcmi_event_filter filter, struct dcmi_event *out)
{
    if (!hardware.callbacks)
        return NOT_SUPPORTED;
    if (!out || timeout_ms < FOR_EVER || timeout_ms > EVENT_TIMEOUT_MS_MAX)
        return BAD_PARAMETER;
    if (deliver)
        return OCCUPIED;
    struct waiting self = {waiting, logic, filter, out, false};
    struct waiting **place = &waiting;
    waiting = &self;
    wait_event(&self, timeout_ms);
    while (*place != &self)
        place = &(*place)->next;
    *place = self.next;
    if (!self.served)
        memset(out, 0, sizeof *out);
    return self.served ? OK : TIMED_OUT;
}

/* What stands on a chip, as events; the whole buffer is written. */
int events_standing(const struct chip *chip, struct dcmi_event *out, int size, int *count)
{
    if (!out || !count || size < 1 || size > EVENT_CURRENT_MAX)
        return BAD_PARAMETER;
    memset(out, 0, (size_t)size * sizeof *out);
    *count = chip->codes < size ? chip->codes : size;
    for (int i = 0; i < *count; i++) {
        const struct standing *standing = &chip->standing[i];
        compose(&out[i], &(struct occasion){.code = standing->code, .assertion = 1,
                                            .severity = standing->severity,
                                            .raised_ms = standing->raised_ms, .name = ""},
                snapshot_logic(chip));
    }
    return OK;
}
