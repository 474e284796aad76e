//! The kinds of test, by name.

use crosstalk_core::{Fault, name};

use super::kind::Test;
use super::{
    arithmetic, disk, folder, identity, linear, memory, message, names, numeric, program, search, sieve,
    sort, text,
};

/// All kinds of test, by name.
pub fn tests() -> &'static [Test] {
    TESTS
}

/// The kind of test of this name.
///
/// # Errors
/// A usage fault if there is none, with the nearest name.
pub fn test(name: &str) -> Result<&'static Test, Fault> {
    let found = TESTS.iter().find(|test| test.name == name);
    found.ok_or_else(|| name::unknown("test", name, TESTS.iter().map(|test| test.name)))
}

macro_rules! test {
    ($name:literal, $title:literal, $job:path) => {
        Test { name: $name, title: $title, run: |user| $job(user).map_err(|fault| fault.at($name)) }
    };
}

static TESTS: &[Test] = &[
    test!("add_double", "18 million additions of 64-bit floating-point numbers", arithmetic::add_double),
    test!("add_float", "12 million additions of 32-bit floating-point numbers", arithmetic::add_float),
    test!("add_int", "60 million additions of 32-bit integers", arithmetic::add_int),
    test!("add_long", "60 million additions of 64-bit integers", arithmetic::add_long),
    test!("add_short", "24 million additions of 16-bit integers", arithmetic::add_short),
    test!("array_rtns", "solve 20 systems of 5 to 100 linear equations", linear::array_rtns),
    test!("brk_test", "move the program break 17,000 times", memory::brk_test),
    test!("creat_clo", "create and close a file 1,000 times", names::creat_clo),
    test!("dgram_pipe", "99 messages through a pair of datagram sockets", message::dgram_pipe),
    test!("dir_rtns_1", "read 10,000 entries of the folder /bin", folder::dir_rtns_1),
    test!("disk_cp", "copy a file, block by block", disk::disk_cp),
    test!("disk_rd", "write a file, then read it from beginning to end", disk::disk_rd),
    test!("disk_rr", "write a file, then read as many blocks of it at random", disk::disk_rr),
    test!("disk_rw", "write a file, then overwrite as many blocks of it at random", disk::disk_rw),
    test!("disk_src", "look up 57 files of a tree, make and remove 43", search::disk_src),
    test!("disk_wrt", "write a file", disk::disk_wrt),
    test!("div_double", "3 million divisions of 64-bit floating-point numbers", arithmetic::div_double),
    test!("div_float", "3 million divisions of 32-bit floating-point numbers", arithmetic::div_float),
    test!("div_int", "900,000 divisions of 32-bit integers", arithmetic::div_int),
    test!("div_long", "900,000 divisions of 64-bit integers", arithmetic::div_long),
    test!("div_short", "900,000 divisions of 16-bit integers", arithmetic::div_short),
    test!("exec_test", "run a shell script that lists a folder 5 times", program::exec_test),
    test!("fork_test", "100 children that end at once", program::fork_test),
    test!("jmp_test", "leave 6 nested calls at once 1,000 times", program::jmp_test),
    test!("link_test", "make 7 links to a file, then remove and make each 9 times", names::link_test),
    test!("matrix_rtns", "100 transformations of a point by a 4 × 4 matrix", linear::matrix_rtns),
    test!("mem_rtns_1", "allocate and free 30,000 pieces of memory", memory::mem_rtns_1),
    test!("mem_rtns_2", "fill, search, compare, copy and move memory 100 times", memory::mem_rtns_2),
    test!("misc_rtns_1", "look up who and where the process is 10 times", identity::misc_rtns_1),
    test!(
        "mul_double",
        "12 million multiplications of 64-bit floating-point numbers",
        arithmetic::mul_double
    ),
    test!("mul_float", "12 million multiplications of 32-bit floating-point numbers", arithmetic::mul_float),
    test!("mul_int", "240,000 multiplications of 32-bit integers", arithmetic::mul_int),
    test!("mul_long", "240,000 multiplications of 64-bit integers", arithmetic::mul_long),
    test!("mul_short", "300,000 multiplications of 16-bit integers", arithmetic::mul_short),
    test!("new_raph", "find 200 zeros by the Newton-Raphson method", numeric::new_raph),
    test!("num_rtns_1", "100 calls of each of 15 numeric functions", numeric::num_rtns_1),
    test!("page_test", "move the program break 1,700 times and write to each new page", memory::page_test),
    test!("pipe_cpy", "99 messages through a pipe", message::pipe_cpy),
    test!("ram_copy", "copy memory 100 times, 1 B to 64 KiB each", memory::ram_copy),
    test!("series_1", "compute 100 sines by their series", numeric::series_1),
    test!("shared_memory", "100 messages through shared memory, with a semaphore", message::shared_memory),
    test!("shell_rtns_1", "have a shell run a script that lists a folder", program::shell_rtns_1),
    test!("sieve", "find the primes below a million 5 times", sieve::sieve),
    test!("signal_test", "catch 1,000 signals", program::signal_test),
    test!("sort_rtns_1", "sort 10,000 numbers 6 times, and search for 4,000", sort::sort_rtns_1),
    test!("stream_pipe", "99 messages through a pair of stream sockets", message::stream_pipe),
    test!("string_rtns", "100 rounds of conversions, comparisons and copies of text", text::string_rtns),
    test!("sync_disk_cp", "copy half a file, each block to the disk at once", disk::sync_disk_cp),
    test!(
        "sync_disk_rw",
        "write half a file, then overwrite as many blocks at random, each on the disk at once",
        disk::sync_disk_rw
    ),
    test!(
        "sync_disk_update",
        "write a file, then read half as many blocks at random and overwrite the next, each on the disk at once",
        disk::sync_disk_update
    ),
    test!("sync_disk_wrt", "write half a file, each block to the disk at once", disk::sync_disk_wrt),
    test!("tcp_test", "89 messages through a TCP connection", message::tcp_test),
    test!("trig_rtns", "10,000 calls of each of 10 trigonometric functions", numeric::trig_rtns),
    test!("udp_test", "99 messages over UDP", message::udp_test),
];
