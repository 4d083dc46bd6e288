// SPDX-License-Identifier: Apache-2.0
/*
 * Preloaded before libumad2sim, for ibdiagnet alone (infiniband-tools.ts). That library gives a
 * response to the program that registered the response's management class, where the kernel goes
 * by the transaction. ibdiagnet registers the class of LID-routed subnet management alone, and
 * asks by directed routes too: its first response would end it. So it gets both classes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define CLASS_SUBNET 0x01
#define CLASS_SUBNET_DIRECTED_ROUTE 0x81

typedef int register_function(int port, int mgmt_class, int version,
			      uint8_t rmpp_version, long *method_mask);

int umad_register(int port, int mgmt_class, int version, uint8_t rmpp_version,
		  long *method_mask)
{
	register_function *next = (register_function *)dlsym(RTLD_NEXT, "umad_register");

	if (mgmt_class == CLASS_SUBNET)
		next(port, CLASS_SUBNET_DIRECTED_ROUTE, version, rmpp_version, NULL);
	return next(port, mgmt_class, version, rmpp_version, method_mask);
}
