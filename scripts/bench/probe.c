// SPDX-License-Identifier: Apache-2.0
/*
 * Measures two vfio-user devices without QEMU: the cost of a vCPU's accesses on
 * the socket alone. Rounds take turns between the devices; each does reads that
 * wait, then posted 8-byte writes closed by one read. A process that only
 * answers, `socket`, shows what the kernel takes for the same. Called by raw.ts:
 * probe ROUNDS READS WRITES NAME SOCKET NAME SOCKET. Prints the JSON lines of
 * samples.ts, as the guest module does. Written in C because a client slower
 * than the devices would hide their difference.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "vuhca_hw.h"

#define VERSION 1
#define REGION_READ 9
#define REGION_WRITE 10
#define NO_REPLY 0x10
#define WARM_UP 2000

struct header {
	uint16_t id, command;
	uint32_t size, flags, error;
} __attribute__((packed));

struct access {
	struct header header;
	uint64_t offset;
	uint32_t region, count;
	uint64_t data;
} __attribute__((packed));

struct device {
	const char *name;
	int fd;
	uint64_t value;
};

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "probe: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void receive(int fd, void *bytes, size_t count)
{
	must(recv(fd, bytes, count, MSG_WAITALL) == (ssize_t)count, "receive");
}

static void attach(struct device *device, const char *name, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct {
		struct header header;
		uint16_t major, minor;
	} __attribute__((packed)) version = {
		.header = { 1, VERSION, sizeof(version), 0, 0 },
		.minor = 1,
	};
	char answer[4096];
	struct header header;

	device->name = name;
	device->fd = socket(AF_UNIX, SOCK_STREAM, 0);
	must(strlen(path) < sizeof(address.sun_path), "socket path");
	strcpy(address.sun_path, path);
	must(connect(device->fd, (void *)&address, sizeof(address)) == 0, path);
	must(send(device->fd, &version, sizeof(version), 0) == sizeof(version),
	     "send version");
	receive(device->fd, &header, sizeof(header));
	must(header.size <= sizeof(answer) && !header.error, "version");
	receive(device->fd, answer, header.size - sizeof(header));
}

static uint64_t read_register(struct device *device, uint64_t offset,
			      uint32_t count)
{
	struct access access = {
		.header = { 2, REGION_READ, 32, 0, 0 },
		.offset = offset,
		.region = VUHCA_BAR_REGISTERS,
		.count = count,
	};

	must(send(device->fd, &access, 32, 0) == 32, "send read");
	receive(device->fd, &access, 32 + count);
	return count == 8 ? access.data : (uint32_t)access.data;
}

static void write_register(struct device *device, uint64_t offset,
			   uint64_t value)
{
	struct access access = {
		.header = { 3, REGION_WRITE, 40, NO_REPLY, 0 },
		.offset = offset,
		.region = VUHCA_BAR_REGISTERS,
		.count = 8,
		.data = value,
	};

	must(send(device->fd, &access, 40, 0) == 40, "send write");
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void measure_reads(struct device *device, uint32_t *times,
			  unsigned int reads)
{
	unsigned int i;

	for (i = 0; i < reads; i++) {
		uint64_t start = now_ns();

		read_register(device, VUHCA_CSR_SCRATCH_OFF, 4);
		times[i] = now_ns() - start;
	}
	qsort(times, reads, sizeof(*times), by_value);
	printf("{\"kind\":\"read\",\"device\":\"%s\",\"count\":%u,\"p50Ns\":%u,\"p99Ns\":%u}\n",
	       device->name, reads, times[reads / 2], times[reads * 99ull / 100]);
}

/* Stores to what keeps no value. */
static void measure_stores(struct device *device, unsigned int writes)
{
	uint64_t start = now_ns();
	unsigned int i;

	for (i = 0; i < writes; i++)
		write_register(device, VUHCA_CSR_SCRATCH_OFF, 0);
	read_register(device, VUHCA_CSR_SCRATCH_OFF, 8);
	printf("{\"kind\":\"write\",\"device\":\"%s\",\"count\":%u,\"totalNs\":%llu,\"lost\":0}\n",
	       device->name, writes, (unsigned long long)(now_ns() - start));
}

/* Each value is one more than the last, so reading it back shows lost writes. */
static void measure_writes(struct device *device, unsigned int writes)
{
	uint64_t start = now_ns(), found;
	unsigned int i;

	for (i = 0; i < writes; i++)
		write_register(device, VUHCA_CSR_SCRATCH_OFF, ++device->value);
	found = read_register(device, VUHCA_CSR_SCRATCH_OFF, 8);
	printf("{\"kind\":\"write\",\"device\":\"%s\",\"count\":%u,\"totalNs\":%llu,\"lost\":%lld}\n",
	       device->name, writes, (unsigned long long)(now_ns() - start),
	       (long long)(device->value - found));
}

/* Doorbells are counted one by one on both devices. */
static void measure_doorbells(struct device *device, unsigned int writes)
{
	uint32_t before, counted;
	uint64_t start;
	unsigned int i;

	before = read_register(device, VUHCA_CSR_DOORBELLS_EXPLICIT_OFF, 4);
	start = now_ns();
	for (i = 0; i < writes; i++)
		write_register(device, VUHCA_CSR_SEND_DOORBELL_OFF, 0);
	counted = read_register(device, VUHCA_CSR_DOORBELLS_EXPLICIT_OFF, 4) - before;
	printf("{\"kind\":\"doorbell\",\"device\":\"%s\",\"count\":%u,\"totalNs\":%llu,\"lost\":%lld}\n",
	       device->name, writes, (unsigned long long)(now_ns() - start),
	       (long long)writes - counted);
}

/* Takes all that has come at once, and answers reads without a look at the rest. */
static void answer(int fd)
{
	static char bytes[1 << 16];
	struct access access;
	size_t have = 0, at;
	ssize_t count;

	for (;;) {
		count = recv(fd, bytes + have, sizeof(bytes) - have, 0);
		if (count <= 0)
			_exit(0);
		have += count;
		for (at = 0; have - at >= sizeof(access.header); at += access.header.size) {
			memcpy(&access, bytes + at, sizeof(access.header));
			if (have - at < access.header.size)
				break;
			if (access.header.command != REGION_READ)
				continue;
			memcpy(&access, bytes + at, access.header.size);
			must(send(fd, &access, 32 + access.count, 0) > 0, "answer");
		}
		have -= at;
		memmove(bytes, bytes + at, have);
	}
}

static void start_socket(struct device *device)
{
	int ends[2];
	pid_t child;

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socket pair");
	child = fork();
	must(child >= 0, "fork");
	if (child == 0) {
		close(ends[0]);
		answer(ends[1]);
	}
	close(ends[1]);
	device->name = "socket";
	device->fd = ends[0];
}

int main(int argc, char **argv)
{
	unsigned int rounds, reads, writes, round, turn;
	struct device devices[2], bare = { 0 };
	uint32_t *times;

	if (argc != 8) {
		fprintf(stderr, "usage: probe ROUNDS READS WRITES NAME SOCKET NAME SOCKET\n");
		return 2;
	}
	rounds = atoi(argv[1]);
	reads = atoi(argv[2]);
	writes = atoi(argv[3]);
	memset(devices, 0, sizeof(devices));
	times = calloc(reads, sizeof(*times));
	must(times != NULL, "memory");
	for (turn = 0; turn < 2; turn++) {
		attach(&devices[turn], argv[4 + 2 * turn], argv[5 + 2 * turn]);
		for (round = 0; round < WARM_UP; round++)
			read_register(&devices[turn], VUHCA_CSR_SCRATCH_OFF, 4);
	}
	start_socket(&bare);
	for (round = 0; round < rounds; round++) {
		printf("{\"kind\":\"round\",\"number\":%u}\n", round);
		measure_reads(&bare, times, reads);
		measure_stores(&bare, writes);
		/* The first device alternates, so that drift favours neither. */
		for (turn = 0; turn < 2; turn++)
			measure_reads(&devices[(turn + round) % 2], times, reads);
		for (turn = 0; turn < 2; turn++)
			measure_writes(&devices[(turn + round) % 2], writes);
		for (turn = 0; turn < 2; turn++)
			measure_doorbells(&devices[(turn + round) % 2], writes);
		fflush(stdout);
	}
	return 0;
}
