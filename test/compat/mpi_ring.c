/* SPDX-License-Identifier: BSD-2-Clause */
/* A ring of MPI processes that checks every number it receives: messages of 4 bytes to 4 MiB, sums
 * over all ranks, and puts into the next rank's window. Compiled with each MPI's own compiler. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks;

static int value(int owner, int at) {
    return at * 7 + owner;
}

static void check(const char* what, int size, int at, int found, int wanted) {
    if (found == wanted) return;
    printf("%s of %d: %d at %d instead of %d\n", what, size, found, at, wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void round_of(int size, int* mine, int* theirs, MPI_Win window) {
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    for (int i = 0; i < size; ++i) mine[i] = value(rank, i);
    MPI_Sendrecv(mine, size, MPI_INT, next, 1, theirs, size, MPI_INT, before, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < size; ++i) check("message", size, i, theirs[i], value(before, i));
    MPI_Allreduce(mine, theirs, size, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i)
        check("sum", size, i, theirs[i], ranks * value(0, i) + ranks * (ranks - 1) / 2);
    MPI_Win_fence(0, window);
    MPI_Put(mine, size, MPI_INT, next, 0, size, MPI_INT, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < size; ++i) check("put", size, i, theirs[i], value(before, i));
}

int main(int argc, char** argv) {
    enum { most = 1 << 20 };
    int *mine = malloc(most * sizeof *mine), *theirs = malloc(most * sizeof *theirs);
    MPI_Win window;
    if (!mine || !theirs) return 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Win_create(theirs, most * sizeof *theirs, sizeof *theirs, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &window);
    for (int size = 1; size <= most; size *= 4) round_of(size, mine, theirs, window);
    MPI_Win_free(&window);
    if (rank == 0) printf("all %d ranks are right\n", ranks);
    MPI_Finalize();
    free(mine);
    free(theirs);
    return 0;
}
