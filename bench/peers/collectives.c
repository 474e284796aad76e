/* Times an MPI function in loops, as the workload `collective` does with begin = in-turn: the time of a loop over its
 * calls, at the slowest rank; the median of the loops. Data are in place where the workload has them so. Rank 0 prints
 * a line `SIZE SECONDS` for each size.
 *
 * collectives FUNCTION SECONDS SIZE... */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOP 5e-3
#define FIRST 5

static char *out, *into;
static int rank, ranks, size;
static const char *function;

static int is(const char *name) { return strcmp(function, name) == 0; }

static void call(void) {
    MPI_Comm all = MPI_COMM_WORLD;
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks, numbers = size / 4;
    if (is("pingpong")) {
        if (rank == 0) {
            MPI_Send(out, size, MPI_BYTE, 1, 1, all);
            MPI_Recv(into, size, MPI_BYTE, 1, 1, all, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(into, size, MPI_BYTE, 0, 1, all, MPI_STATUS_IGNORE);
            MPI_Send(out, size, MPI_BYTE, 0, 1, all);
        }
    } else if (is("sendrecv"))
        MPI_Sendrecv(out, size, MPI_BYTE, right, 1, into, size, MPI_BYTE, left, 1, all, MPI_STATUS_IGNORE);
    else if (is("exchange")) {
        MPI_Request requests[4];
        MPI_Irecv(into, size, MPI_BYTE, left, 2, all, requests);
        MPI_Irecv(into + size, size, MPI_BYTE, right, 1, all, requests + 1);
        MPI_Isend(out, size, MPI_BYTE, left, 1, all, requests + 2);
        MPI_Isend(out, size, MPI_BYTE, right, 2, all, requests + 3);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    } else if (is("barrier"))
        MPI_Barrier(all);
    else if (is("bcast"))
        MPI_Bcast(out, size, MPI_BYTE, 0, all);
    else if (is("reduce"))
        MPI_Reduce(rank ? out : MPI_IN_PLACE, rank ? into : out, numbers, MPI_FLOAT, MPI_SUM, 0, all);
    else if (is("allreduce"))
        MPI_Allreduce(MPI_IN_PLACE, out, numbers, MPI_FLOAT, MPI_SUM, all);
    else if (is("reduce_scatter"))
        MPI_Reduce_scatter_block(MPI_IN_PLACE, out, numbers / ranks, MPI_FLOAT, MPI_SUM, all);
    else if (is("gather"))
        MPI_Gather(out, size, MPI_BYTE, into, size, MPI_BYTE, 0, all);
    else if (is("scatter"))
        MPI_Scatter(out, size, MPI_BYTE, rank ? into : MPI_IN_PLACE, size, MPI_BYTE, 0, all);
    else if (is("allgather"))
        MPI_Allgather(out, size, MPI_BYTE, into, size, MPI_BYTE, all);
    else if (is("alltoall"))
        MPI_Alltoall(out, size, MPI_BYTE, into, size, MPI_BYTE, all);
    else {
        fprintf(stderr, "collectives: unknown function %s\n", function);
        MPI_Abort(all, 2);
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The slowest rank's seconds a call. */
static double loop(int calls) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < calls; i++)
        call();
    double own = (MPI_Wtime() - begin) / calls, slowest;
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    function = argv[1];
    double seconds = atof(argv[2]);
    for (int index = 3; index < argc; index++) {
        size = atoi(argv[index]);
        out = calloc(ranks, size + 1);
        into = calloc(ranks < 2 ? 2 : ranks, size + 1);
        double first[FIRST], *times = NULL, end = MPI_Wtime() + seconds;
        call();
        for (int i = 0; i < FIRST; i++)
            first[i] = loop(1);
        qsort(first, FIRST, sizeof *first, ascending);
        int calls = LOOP / first[FIRST / 2], count = 0;
        calls = calls < 1 ? 1 : calls > 10000 ? 10000 : calls;
        for (int continues = 1;; count++) {
            continues = count < 3 || MPI_Wtime() < end;
            MPI_Bcast(&continues, 1, MPI_INT, 0, MPI_COMM_WORLD);
            if (!continues)
                break;
            times = realloc(times, (count + 1) * sizeof *times);
            times[count] = loop(calls);
        }
        qsort(times, count, sizeof *times, ascending);
        if (rank == 0)
            printf("%d %e\n", size, times[count / 2] / (is("pingpong") ? 2 : 1));
        free(times), free(out), free(into);
    }
    MPI_Finalize();
    return 0;
}
