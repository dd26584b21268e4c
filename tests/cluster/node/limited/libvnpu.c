/* A library in the place of the one that limits containers: it limits nothing, and writes down what
 * it was told, as that one does. Loaded by /etc/ld.so.preload or not at all.
 *
 * The accounts of the container are at NPU_LOCAL_SHM_PATH: limit, priority, and one process, which
 * has 1 GiB of its first NPU, 2 GiB of the second and so on. An NPU's turns are at
 * NPU_GLOBAL_SHM_PATH. A process whose files can't be written ends at once.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOCAL_BYTES 6200
#define GLOBAL_BYTES 2848
#define PROCESSES_AT 1080
#define ACTIVE_AT 72
#define MOST_NPUS 8

static void put(unsigned char *at, uint64_t value, size_t size)
{
    memcpy(at, &value, size);  /* both architectures of NPU nodes are little-endian */
}

static uint64_t number(const char *name)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

static void refuse(const char *path)
{
    perror(path ? path : "libvnpu");
    _exit(77);
}

static int open_file(const char *path)
{
    int file = path ? open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666) : -1;
    if (file < 0)
        refuse(path);
    return file;
}

__attribute__((constructor)) static void write_down(void)
{
    unsigned char local[LOCAL_BYTES] = {0};
    unsigned char *process = local + PROCESSES_AT;
    const char *npus = getenv("ASCEND_VISIBLE_DEVICES");
    put(local, number("NPU_MEM_QUOTA") << 20, 8);
    put(local + 16, number("NPU_PRIORITY"), 8);
    put(process, (uint64_t)getpid(), 4);
    put(process + 4, (uint64_t)getpid(), 4);
    for (uint64_t count = 0; npus && count < MOST_NPUS; count++) {
        put(process + 8 + 8 * count, (count + 1) << 30, 8);
        npus = strchr(npus, ',');
        npus = npus ? npus + 1 : NULL;
    }
    put(process + ACTIVE_AT, 1, 4);

    const char *turns = getenv("NPU_GLOBAL_SHM_PATH");
    int file = open_file(turns);
    if (ftruncate(file, GLOBAL_BYTES) < 0)
        refuse(turns);
    close(file);
    const char *accounts = getenv("NPU_LOCAL_SHM_PATH");
    file = open_file(accounts);
    if (write(file, local, sizeof local) != sizeof local)
        refuse(accounts);
    close(file);
}
