/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * API of the vuhca driver for other kernel modules. The calls have the form of
 * InfiniBand verbs; docs/PROGRAMMING.md describes their effect on the adapter.
 * Functions that are not exported are declared in vuhca_internal.h.
 */
#ifndef VUHCA_H
#define VUHCA_H

#include "vuhca_hw.h"

#include "vuhca_collect.h"
#include "vuhca_command.h"
#include "vuhca_cq.h"
#include "vuhca_device.h"
#include "vuhca_eq.h"
#include "vuhca_mad.h"
#include "vuhca_memory.h"
#include "vuhca_pio.h"
#include "vuhca_qp.h"
#include "vuhca_shares.h"
#include "vuhca_vcb.h"
#include "vuhca_work.h"

#endif /* VUHCA_H */
