#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Builds a kernel that watches its drivers, in the current folder: lockdep, checks of sleeping where
# it is not allowed, KASAN, objects of the kernel used against their rules, and DMA-API. It has the
# modules that guests load, and nothing of what they never have, so that it is built in minutes.
#
#     debug-kernel.sh SOURCES.tar.xz CONFIG LSMOD
#
# CONFIG is the configuration of Debian's kernel, LSMOD a list of modules as lsmod prints it.
set -e

WATCH="PROVE_LOCKING DEBUG_ATOMIC_SLEEP PROVE_RCU DETECT_HUNG_TASK WQ_WATCHDOG
KASAN KASAN_GENERIC KASAN_INLINE KASAN_VMALLOC DEBUG_LIST DEBUG_NOTIFIERS DEBUG_SG
DEBUG_OBJECTS DEBUG_OBJECTS_FREE DEBUG_OBJECTS_TIMERS DEBUG_OBJECTS_WORK DEBUG_OBJECTS_RCU_HEAD
DEBUG_OBJECTS_PERCPU_COUNTER DMA_API_DEBUG DMA_API_DEBUG_SG DEBUG_INFO_NONE"
# Signatures and type information need further tools.
ABSENT="MODULE_SIG SYSTEM_TRUSTED_KEYRING SECURITY_LOCKDOWN_LSM IMA EVM DEBUG_INFO_BTF
DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT SOUND DRM FB USB_SUPPORT HID WLAN WIRELESS MEDIA_SUPPORT I2C SPI
XEN HYPERV BT NFC CAN ATA MMC GPIOLIB PINCTRL EFI HIBERNATION SUSPEND SECURITY_SELINUX
SECURITY_APPARMOR SECURITY_TOMOYO SECURITY_SMACK AUDIT NETFILTER NET_SCHED HAMRADIO MPTCP STAGING
BTRFS_FS XFS_FS ZSWAP CXL_BUS LIBNVDIMM POWERCAP TCG_TPM WATCHDOG CHROME_PLATFORMS
X86_PLATFORM_DEVICES SURFACE_PLATFORMS FTRACE DAMON MD RAS EDAC VFIO IOMMU_SUPPORT ACCESSIBILITY STM
INTEL_TH"

tar --extract --strip-components=1 --file="$1"
cp "$2" .config
yes '' | make LSMOD="$3" localmodconfig >/dev/null 2>&1
for name in $ABSENT; do ./scripts/config --disable "$name"; done
for name in $WATCH; do ./scripts/config --enable "$name"; done
./scripts/config --set-val LOCKDEP_BITS 17 --set-val LOCKDEP_CHAINS_BITS 18
make olddefconfig >/dev/null
make --jobs="$(nproc)" --silent bzImage modules
# Modules of others need headers, programs and symbols; no object of the kernel itself.
find . \( -path ./scripts -o -path ./tools \) -prune -o -name '*.[oa]' -exec rm {} +
rm -rf vmlinux Documentation drivers/gpu sound
