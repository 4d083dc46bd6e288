// SPDX-License-Identifier: Apache-2.0
// The C twin of bench/device.ts: the same registers on the same libvfio-user, served by a blocking loop, which is the
// fastest a C device can be without spinning. Usage: twin SOCKET
#include <errno.h>
#include <libvfio-user.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint32_t registers[64];

static ssize_t access_bar(vfu_ctx_t *ctx, char *buf, size_t count, loff_t offset, bool is_write)
{
    (void)ctx;
    if (offset + count > sizeof(registers)) {
        return count;
    }
    if (is_write) {
        memcpy((char *)registers + offset, buf, count);
        registers[1]++;
    } else {
        memcpy(buf, (char *)registers + offset, count);
    }
    return count;
}

int main(int argc, char **argv)
{
    vfu_ctx_t *ctx;

    if (argc != 2 || (ctx = vfu_create_ctx(VFU_TRANS_SOCK, argv[1], 0, NULL, VFU_DEV_TYPE_PCI)) == NULL) {
        perror("twin");
        return 1;
    }
    vfu_pci_init(ctx, VFU_PCI_TYPE_EXPRESS, 0, 0);
    vfu_setup_region(ctx, VFU_PCI_DEV_BAR0_REGION_IDX, 65536, access_bar, VFU_REGION_FLAG_RW | VFU_REGION_FLAG_MEM,
                     NULL, 0, -1, 0);
    if (vfu_realize_ctx(ctx) != 0) {
        perror("twin");
        return 1;
    }
    for (;;) {
        if (vfu_attach_ctx(ctx) == 0) {
            while (vfu_run_ctx(ctx) >= 0 || errno != ENOTCONN) {
            }
        }
    }
}
