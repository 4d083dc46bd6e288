// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A token goes once around all ranks, each of which adds its number; then all
 * ranks sum a vector that is too long for one packet. Rank 0 checks both.
 * ring.sh compiles and runs it.
 */
#include <mpi.h>
#include <stdio.h>

#define COUNT 65536

static double vector[COUNT], sum[COUNT];

int main(int argc, char **argv)
{
	int rank, size, length, token = 0;
	char host[MPI_MAX_PROCESSOR_NAME];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Get_processor_name(host, &length);
	if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	token += rank;
	MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
	if (rank == 0) MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < COUNT; i++) vector[i] = rank + i;
	MPI_Allreduce(vector, sum, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	int expected = size * (size - 1) / 2, wrong = 0;
	for (int i = 0; i < COUNT; i++) wrong += sum[i] != expected + (double)i * size;
	printf("rank %d of %d on %s: %d wrong sums\n", rank, size, host, wrong);
	if (rank == 0) printf("token %d, expected %d\n", token, expected);
	MPI_Finalize();
	return wrong > 0 || (rank == 0 && token != expected);
}
