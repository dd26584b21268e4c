/* How an exported function that asks one chip or the host is written in one line.
 *
 * ``chip`` names the chip of the call inside the last argument of CARD, SLOT and DEVICE. A chip
 * whose hardware is gone answers IOCTL_FAILED, but for the few calls with a code of their own.
 */
#ifndef CALLS_H
#define CALLS_H

#include "fake.h"

#define CHIP(how, first, second, lost, expression) \
    ({ \
        struct call call_; \
        struct chip *chip = NULL; \
        int rc_ = begin_chip(&call_, __func__, how, first, second, lost, &chip); \
        gate_leave(&call_, rc_ != OK ? rc_ : (expression)); \
    })

#define HOST(expression) \
    ({ \
        struct call call_; \
        int rc_ = begin_host(&call_, __func__); \
        gate_leave(&call_, rc_ != OK ? rc_ : (expression)); \
    })

#define ANYWHERE(expression) \
    ({ \
        struct call call_; \
        int rc_ = gate_enter(&call_, __func__, NO_ADDRESS, -1, -1); \
        gate_leave(&call_, rc_ != OK ? rc_ : (expression)); \
    })

#define CARD(expression) return CHIP(BY_CARD, card_id, -1, IOCTL_FAILED, expression)
#define SLOT(expression) return CHIP(BY_SLOT, card_id, device_id, IOCTL_FAILED, expression)
#define DEVICE(expression) return CHIP(BY_LOGIC, (int)dev_id, -1, IOCTL_FAILED, expression)

#endif
