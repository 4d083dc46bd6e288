// SPDX-License-Identifier: Apache-2.0
// Measures a vfio-user device as a guest's CPU would see it: 4-byte reads that wait, and posted 8-byte writes.
// Usage: rtt SOCKET READS WRITES   prints: read p50, read p99, write mean (microseconds)
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct message {
    uint16_t id, command;
    uint32_t size, flags, error;
    uint64_t offset;
    uint32_t region, count;
    uint64_t data;
} __attribute__((packed));

static double now_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(1);
    }
}

static void receive(int fd, size_t count)
{
    char bytes[4096];
    must(recv(fd, bytes, count, MSG_WAITALL) == (ssize_t)count, "recv");
}

static void read_register(int fd)
{
    struct message m = { 1, 9, 32, 0, 0, 0, 0, 4, 0 };
    must(send(fd, &m, 32, 0) == 32, "send");
    receive(fd, 36);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char version[20] = { 1, 0, 1, 0, 20 };
    long reads = atol(argv[argc - 2]), writes = atol(argv[argc - 1]);
    double *times = malloc(reads * sizeof(double));
    uint32_t size;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    strncpy(address.sun_path, argv[1], sizeof(address.sun_path) - 1);
    must(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
    must(send(fd, version, 20, 0) == 20, "send version");
    char header[16];
    must(recv(fd, header, 16, MSG_WAITALL) == 16, "recv version");
    memcpy(&size, header + 4, 4);
    receive(fd, size - 16);

    for (int i = 0; i < 2000; i++) {
        read_register(fd);
    }
    for (long i = 0; i < reads; i++) {
        double start = now_us();
        read_register(fd);
        times[i] = now_us() - start;
    }
    double start = now_us();
    for (long i = 0; i < writes; i++) {
        struct message m = { 2, 10, 40, 0x10, 0, 8, 0, 8, i };
        must(send(fd, &m, 40, 0) == 40, "send");
    }
    read_register(fd);
    double write_us = (now_us() - start) / writes;
    qsort(times, reads, sizeof(double), by_value);
    printf("%.2f %.2f %.3f\n", times[reads / 2], times[reads * 99 / 100], write_us);
    return 0;
}
