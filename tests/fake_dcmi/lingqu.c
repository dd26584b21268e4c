/* The host's switches, and the functions of their library: what liblingqu-dcmi.so is made of.
 *
 * That library is all of this code under another name and with other exports: it has a hardware,
 * a script and a socket of its own, and needs no libdcmi.so. Its return codes are numbers of the
 * other library with other meanings.
 */
#define _GNU_SOURCE
#include "calls.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SWITCH_BAD_PARAMETER = -8001,
    SWITCH_NO_DEVICE = -8004,
    SWITCH_NOT_INITIALISED = -8009,
    SWITCH_TOO_MANY = -8014,
    SWITCH_BAD_FILTER = -8015,
    SWITCH_NOT_SUBSCRIBED = -8016,
    SWITCH_SECOND_INIT = -8017,
};

enum { BY_TYPE = 1, BY_ID = 2, BY_SEVERITY = 4, BY_CHIP = 8, ALL_FILTERS = 15 };
enum { MAX_STANDING = 512, MAX_SUBSCRIPTIONS = 4, RUBBISH = 0xDD };

typedef void handler(struct LqDcmiEvent *event);

struct subscription {
    struct lq_dcmi_event_filter filter;
    handler *handler;
};

struct queued {
    struct queued *next;
    handler *handler;
    struct LqDcmiEvent event; /* nothing may follow it: a long read must leave the allocation */
};

static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static struct LqDcmiEvent standing[MAX_STANDING];
static struct subscription subscriptions[MAX_SUBSCRIPTIONS];
static int standing_count, subscription_count;
static struct queued *first, **last = &first;
static bool initialised;

static bool same_fault(const struct LqDcmiEvent *one, const struct LqDcmiEvent *other)
{
    return one->eventType == other->eventType && one->subType == other->subType &&
           one->peerportDevice == other->peerportDevice && one->peerportId == other->peerportId &&
           one->switchChipid == other->switchChipid && one->switchPortid == other->switchPortid;
}

static bool passes(const struct lq_dcmi_event_filter *filter, const struct LqDcmiEvent *event)
{
    unsigned int by = filter->filterFlag;
    return (!(by & BY_TYPE) || filter->eventTypeId == event->eventType) &&
           (!(by & BY_ID) || filter->eventId == event->subType) &&
           (!(by & BY_SEVERITY) || filter->severity == event->severity) &&
           (!(by & BY_CHIP) || filter->chipId == event->switchChipid);
}

/* Raise (1) or clear (0) a fault; what is noticed once (2) changes nothing. */
static void change(const struct LqDcmiEvent *event)
{
    int at = 0;
    while (at < standing_count && !same_fault(&standing[at], event))
        at++;
    if (event->assertion == 1 && at == standing_count && at < MAX_STANDING)
        standing[standing_count++] = *event;
    if (event->assertion == 0 && at < standing_count)
        memmove(&standing[at], &standing[at + 1],
                (size_t)(--standing_count - at) * sizeof *standing);
}

/* Let something happen to a switch; quiet: nobody is told, as when an event is lost. */
void switches_raise(const struct LqDcmiEvent *event, bool quiet)
{
    change(event);
    if (quiet)
        return;
    events_note_time();
    for (int i = 0; i < subscription_count; i++) {
        if (!passes(&subscriptions[i].filter, event))
            continue;
        struct queued *queued = malloc(sizeof *queued);
        if (!queued)
            abort();
        *queued = (struct queued){NULL, subscriptions[i].handler, *event};
        *last = queued;
        last = &queued->next;
        pthread_cond_signal(&arrived);
    }
}

bool switches_subscribed(void)
{
    return subscription_count > 0;
}

/* The library's one thread. The event is overwritten afterwards: it is valid in the call alone. */
static void *deliver(void *unused)
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
        queued->handler(&queued->event);
        memset(&queued->event, RUBBISH, sizeof queued->event);
        free(queued);
        pthread_mutex_lock(&lock);
    }
    return NULL;
}

static int initialise(void)
{
    pthread_t thread;
    if (!hardware.switches)
        return SWITCH_NO_DEVICE;
    if (initialised)
        return SWITCH_SECOND_INIT;
    if (pthread_create(&thread, NULL, deliver, NULL))
        return SWITCH_NO_DEVICE;
    pthread_setname_np(thread, "fake-switches");
    pthread_detach(thread);
    initialised = true;
    return OK;
}

static int unsubscribe(const struct lq_dcmi_event_filter *filter)
{
    for (int i = 0; i < subscription_count; i++)
        if (!memcmp(&subscriptions[i].filter, filter, sizeof *filter)) {
            subscriptions[i] = subscriptions[--subscription_count];
            return OK;
        }
    return SWITCH_NOT_SUBSCRIBED;
}

static int subscribe(const struct lq_dcmi_event_filter *filter, handler *handler)
{
    if (!initialised)
        return SWITCH_NOT_INITIALISED;
    if (filter->filterFlag & ~(unsigned int)ALL_FILTERS)
        return SWITCH_BAD_FILTER;
    if (!handler)
        return unsubscribe(filter);
    if (subscription_count == MAX_SUBSCRIPTIONS)
        return SWITCH_TOO_MANY;
    subscriptions[subscription_count++] = (struct subscription){*filter, handler};
    return OK;
}

/* The whole list is written: what lies behind the valid part is rubbish. */
static int list(unsigned int size, unsigned int *count, struct LqDcmiEvent *out)
{
    if (!initialised)
        return SWITCH_NOT_INITIALISED;
    if (!size || !count || !out)
        return SWITCH_BAD_PARAMETER;
    *count = (unsigned int)standing_count < size ? (unsigned int)standing_count : size;
    memcpy(out, standing, *count * sizeof *out);
    memset(out + *count, RUBBISH, (size - *count) * sizeof *out);
    return OK;
}

int lq_dcmi_init(void)
{
    return ANYWHERE(initialise());
}

int lq_dcmi_subscribe_fault_event(struct lq_dcmi_event_filter filter,
                                  void (*handler)(struct LqDcmiEvent *event))
{
    return ANYWHERE(subscribe(&filter, handler));
}

int lq_dcmi_get_fault_info(unsigned int listLen, unsigned int *eventListLen,
                           struct LqDcmiEvent *eventList)
{
    return ANYWHERE(list(listLen, eventListLen, eventList));
}
