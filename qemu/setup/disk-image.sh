#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Gives a Debian root what an installer would: names, a password, the network, the file system
# table, and GRUB with its configuration. disk-image.ts runs it on the root that mmdebstrap has
# made: disk-image.sh ROOT LABEL.

set -e
root=$1
label=$2

echo vuhca-disk >"$root/etc/hostname"
printf '127.0.0.1 localhost\n127.0.1.1 vuhca-disk\n' >"$root/etc/hosts"
echo "LABEL=$label / ext4 defaults 0 1" >"$root/etc/fstab"
: >"$root/etc/machine-id"
chroot "$root" passwd --quiet --delete root
# Under emulation on a busy machine a login takes more than its 60 seconds.
sed -i 's/^LOGIN_TIMEOUT.*/LOGIN_TIMEOUT 0/' "$root/etc/login.defs"

cat >"$root/etc/systemd/network/20-ethernet.network" <<END
[Match]
Type=ether

[Network]
DHCP=yes
END
cat >"$root/etc/systemd/network/30-infiniband.network" <<END
[Match]
Type=infiniband

[Network]
LinkLocalAddressing=ipv6
END
chroot "$root" systemctl --quiet enable systemd-networkd
# No guest needs a card to be ready before others log in.
chroot "$root" systemctl --quiet disable systemd-networkd-wait-online

# Under emulation on a busy machine the kernel measures a wrong frequency of the time stamp counter,
# and devices take longer to appear than systemd waits by default.
patience='systemd.default_device_timeout_sec=3600 systemd.default_timeout_start_sec=3600'
mkdir -p "$root/boot/grub"
cat >"$root/boot/grub/grub.cfg" <<END
set timeout=0
search --no-floppy --label --set=root $label
menuentry Debian {
  linux /vmlinuz root=LABEL=$label ro console=ttyS0 quiet tsc=unstable clocksource=hpet $patience
  initrd /initrd.img
}
END
chroot "$root" grub-mkimage --format=i386-pc --output=/boot/grub/core.img --prefix='(hd0,msdos1)/boot/grub' \
  biosdisk part_msdos ext2 normal linux search search_label configfile
