//! What the lines of an MPI profile must keep to, beyond what their types say: each can be carried out, and each is used.

use crosstalk_core::Fault;
use crosstalk_core::mpi::{Choice, Operation};
use crosstalk_core::units::Bytes;

/// The name for a message-passing library that costs nothing.
pub const NO_MPI: &str = "none";

/// Checks lines of `collective`. Of the lines that fit, the first one counts. `at` finds the line of a key in the file.
///
/// # Errors
/// A usage fault: an algorithm that cannot carry out the operation, a limit that means nothing, or a line that is never
/// used.
pub(crate) fn check_collectives(lines: &[Choice], at: impl Fn(&str) -> String) -> Result<(), Fault> {
    for (number, line) in lines.iter().enumerate() {
        let at = |key: &str| at(&format!("collective.{number}{key}"));
        let operation = line.operation;
        if !operation.algorithms().contains(&line.algorithm) {
            let known: Vec<_> = operation.algorithms().iter().map(|algorithm| algorithm.name()).collect();
            let (operation, algorithm) = (operation.name(), line.algorithm.name());
            return Err(Fault::usage(format!("`{algorithm}` cannot carry out `{operation}`"))
                .at(at(".algorithm"))
                .remedy(format!("one of: {}", known.join(", "))));
        }
        for (key, limit) in [("up_to", line.up_to), ("up_to_in_all", line.up_to_in_all)] {
            if let Some(why) = has_no_size(operation).filter(|_| limit.is_some()) {
                return Err(Fault::usage(format!("`{key}` means nothing: `{}` {why}", operation.name()))
                    .at(at(&format!(".{key}")))
                    .remedy("leave it out"));
            }
        }
        if lines[..number].iter().any(|earlier| replaces(earlier, line)) {
            let operation = operation.name();
            return Err(Fault::usage(format!(
                "this line is never used: whenever it fits, an earlier line of `{operation}` does"
            ))
            .at(at(""))
            .remedy("write limits in ascending order, and a line without limits last"));
        }
    }
    Ok(())
}

/// Why an operation has no size by which ranks could choose alike; `None` where it has one.
fn has_no_size(operation: Operation) -> Option<&'static str> {
    match operation {
        Operation::Barrier => Some("carries no data"),
        _ if operation.has_any_sizes() => Some("has pieces of any size, which only their owners know"),
        _ => None,
    }
}

/// Whether `earlier` fits whenever `later` does.
fn replaces(earlier: &Choice, later: &Choice) -> bool {
    let no_less = |earlier: Option<Bytes>, later: Option<Bytes>| {
        earlier.is_none_or(|earlier| later.is_some_and(|later| later <= earlier))
    };
    let needs_power_of_two = |choice: &Choice| choice.operation.needs_power_of_two(choice.algorithm);
    earlier.operation == later.operation
        && no_less(earlier.up_to, later.up_to)
        && no_less(earlier.up_to_in_all, later.up_to_in_all)
        && earlier.from_ranks.unwrap_or(0) <= later.from_ranks.unwrap_or(0)
        && (needs_power_of_two(later) || !needs_power_of_two(earlier))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogues;
    use crosstalk_core::mpi::Mpi;

    /// The fault of a profile with these lines of TOML from the fifth on.
    fn fault(lines: &str) -> String {
        let text = format!("title = \"T\"\n[source]\n\n[[collective]]\n{lines}\n");
        Catalogues::new().add_mpi("own", &text, "own.toml").expect_err(lines).to_string()
    }

    #[track_caller]
    fn expect(lines: &str, at: usize, says: &str, remedy: &str) {
        let fault = fault(lines);
        assert!(fault.starts_with(&format!("own.toml:{at}: ")), "not on line {at}: {fault}");
        assert!(fault.contains(says), "does not say `{says}`: {fault}");
        assert!(fault.contains(remedy), "does not suggest `{remedy}`: {fault}");
    }

    #[test]
    fn the_bundled_profiles_are_found_by_their_names() {
        let catalogues = Catalogues::bundled();
        let names: Vec<&str> = catalogues.mpi_profiles().map(|mpi| mpi.name.as_str()).collect();
        assert_eq!(names, ["mpich-1.2.6", "mpich-gm-1.2.6", "mvapich-0.9.4"]);
        assert_eq!(catalogues.find_mpi("mvapich-0.9.4").map(|mpi| mpi.eager_limit), Ok(Some(Bytes(6 << 10))));
        let fault = catalogues.find_mpi("mvapich-0.9").expect_err("unknown");
        assert_eq!(fault.message, "unknown MPI profile `mvapich-0.9`");
        assert_eq!(fault.remedy.as_deref(), Some("did you mean `mvapich-0.9.4`?"));
    }

    #[test]
    fn a_profile_reads_as_it_is_written() {
        for mpi in Catalogues::bundled().mpi_profiles() {
            let text = toml::to_string(mpi).expect("writes");
            let mut again = Catalogues::new();
            again.add_mpi("x", &text, "x.toml").unwrap_or_else(|fault| panic!("{fault}"));
            assert_eq!(again.find_mpi(&mpi.name), Ok(mpi));
        }
    }

    #[test]
    fn wrong_keys_and_names_are_faults_with_the_nearest() {
        let barrier = "operation = \"barrier\"\nalgorithm = \"dissemination\"";
        expect(&format!("{barrier}\nupto = \"1 B\""), 7, "unknown key `upto`", "did you mean `up_to`?");
        expect(&barrier.replace("barrier", "barier"), 5, "unknown value `barier`", "did you mean `barrier`?");
        expect(&barrier.replace("semi", "sim"), 6, "unknown value `dissimnation`", "`dissemination`?");
        expect("operation = \"barrier\"", 4, "missing key `algorithm`", "");
        let text = "title = \"T\"\neager_limit = 8\neager_copy = \"1 n\"\nsource = {}";
        let fault = Catalogues::new().add_mpi("own", text, "own.toml").expect_err("no such unit").to_string();
        assert!(fault.starts_with("own.toml:3: unknown unit `n`"), "{fault}");
        let text = "title = \"T\"\nsource = {}";
        let fault = Catalogues::new().add_mpi("none.toml", text, "none.toml").expect_err("taken").to_string();
        assert!(fault.contains("`none` is reserved: it means a library that costs nothing"), "{fault}");
        let text = format!("name = \"a/b\"\n{text}");
        let fault = Catalogues::new().add_mpi("own", &text, "own.toml").expect_err("leads").to_string();
        assert!(fault.starts_with("own.toml:1: expected a library's name"), "{fault}");
    }

    #[test]
    fn an_algorithm_must_be_one_of_its_operation() {
        let line = "operation = \"allreduce\"\nalgorithm = \"bruck\"";
        expect(line, 6, "`bruck` cannot carry out `allreduce`", "recursive-doubling, rabenseifner, ring");
    }

    #[test]
    fn a_limit_needs_a_size() {
        let barrier = "operation = \"barrier\"\nalgorithm = \"dissemination\"\nup_to = \"1 B\"";
        expect(barrier, 7, "`up_to` means nothing: `barrier` carries no data", "leave it out");
        let gatherv = "operation = \"gatherv\"\nup_to_in_all = \"1 B\"\nalgorithm = \"linear\"";
        expect(gatherv, 6, "`up_to_in_all` means nothing: `gatherv` has pieces of any size", "leave it out");
    }

    #[test]
    fn a_line_after_one_that_fits_whenever_it_does_is_never_used() {
        let line = |algorithm: &str, limits: &str| {
            format!("operation = \"alltoall\"\nalgorithm = \"{algorithm}\"\n{limits}\n\n[[collective]]\n")
        };
        let last = "operation = \"alltoall\"\nalgorithm = \"pairwise\"\nup_to = \"32 KiB\"\nfrom_ranks = 8";
        for limits in ["", "up_to = \"32 KiB\"", "up_to = \"1 MB\"", "from_ranks = 8"] {
            let lines = line("bruck", limits) + last;
            expect(&lines, 9, "is never used: whenever it fits, an earlier line of `alltoall`", "ascending");
        }
        for limits in ["up_to = \"256 B\"", "up_to_in_all = \"1 GB\"", "from_ranks = 9"] {
            let text = format!("title = \"T\"\n[source]\n[[collective]]\n{}{last}", line("bruck", limits));
            assert_eq!(Catalogues::new().add_mpi("own", &text, "own.toml"), Ok(()), "{limits}");
        }
    }

    #[test]
    fn an_algorithm_for_powers_of_two_leaves_the_rest_to_later_lines() {
        let choice = |algorithm: &str| {
            format!("[[collective]]\noperation = \"allgather\"\nalgorithm = \"{algorithm}\"\n")
        };
        let read = |algorithms: [&str; 2]| {
            let lines = algorithms.map(choice).concat();
            let text = format!("title = \"T\"\n[source]\n{lines}");
            let mpi: Mpi = toml::from_str(&text).expect("reads");
            check_collectives(&mpi.collectives, |key| key.to_string())
        };
        assert_eq!(read(["recursive-doubling", "ring"]), Ok(()));
        let never_used = read(["ring", "recursive-doubling"]).expect_err("is never used");
        assert_eq!(never_used.place.as_deref(), Some("collective.1"));
    }
}
