//! Message-passing libraries: the catalogue `mpi`, and the conditions `mpi` and `ranks`.

use crate::common::{crosstalk, stderr, stdout};
use crosstalk_core::mpi::{Algorithm, Operation};
use crosstalk_model::collective::fits;

/// PageRank on two nodes of KISTI's cluster, with these conditions.
fn study(conditions: &str) -> String {
    format!(
        "schema = \"crosstalk.study/1\"\ntitle = \"T\"\nlooks = [1]\n[experiment.e]\n\
         work.p = {{ kind = \"pagerank\", slaves = 1, scale = 8 }}\n\
         conditions = {{ system = \"kisti-2006-infiniband\", boards = \"one\", {conditions} }}\n\
         factors = {{ library = [\"none\", \"mvapich-0.9.4\"] }}\n\
         compare = {{ factor = \"library\", base = \"none\" }}\n"
    )
}

#[test]
fn an_mpi_profile_is_shown_with_its_sources_and_can_be_copied_and_changed() {
    let dir = tempfile::tempdir().expect("a directory");
    let listed = stdout(&crosstalk(dir.path(), &["list", "mpi"]));
    assert!(listed.starts_with("mpi:\n") && listed.contains("mpich-gm-1.2.6"), "{listed}");
    let shown = stdout(&crosstalk(dir.path(), &["show", "mvapich-0.9.4"]));
    for part in
        ["#   eager_limit  longest", "eager_limit = \"6 KiB\"", "[source]", "caveats", "[[collective]]"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    std::fs::create_dir_all(dir.path().join("my/mpi")).expect("a folder");
    std::fs::write(dir.path().join("my/mpi/own.toml"), shown.replacen("6 KiB", "9 KiB", 1)).expect("writes");
    let plan = |conditions: &str| {
        let text = study(conditions).replace("\"mvapich-0.9.4\"", "\"mvapich-0.9.4\", \"own\"");
        std::fs::write(dir.path().join("s.toml"), text).expect("writes");
        crosstalk(dir.path(), &["plan", "./s.toml", "--catalogue", "my"])
    };
    let planned = plan("mpi = \"$library\", ranks = 2");
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
    let refused = stderr(&plan("mpi = \"$library\", ranks = 3"));
    assert!(refused.contains("s.toml:6: 3 ranks do not fit on a node of"), "{refused}");
}

#[test]
fn an_unknown_mpi_profile_gets_the_nearest_name() {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, said) in [
        ("mpi/other", &["unknown MPI profile `other`", "one of: mpich-1.2.6, mpich-gm-1.2.6"][..]),
        ("mpi/mvapich", &["unknown MPI profile `mvapich`", "did you mean `mvapich-0.9.4`?"]),
        ("mpi/mvapich-0.9.5", &["unknown MPI profile `mvapich-0.9.5`", "did you mean `mvapich-0.9.4`?"]),
        ("mvapich-0.9.5", &["unknown name `mvapich-0.9.5`", "did you mean `mvapich-0.9.4`?"]),
    ] {
        let output = crosstalk(dir.path(), &["show", name]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(said.iter().all(|words| text.contains(words)), "{name}: {text}");
    }
    std::fs::write(dir.path().join("s.toml"), study("mpi = \"$library\"").replace("0.9.4", "0.9.5"))
        .expect("writes");
    let text = stderr(&crosstalk(dir.path(), &["plan", "./s.toml"]));
    assert!(text.contains("s.toml:6: unknown MPI profile `mvapich-0.9.5`"), "{text}");
    assert!(text.contains("did you mean `mvapich-0.9.4`?"), "{text}");
}

#[test]
fn an_operation_names_the_algorithms_that_the_model_has() {
    for operation in Operation::ALL {
        for algorithm in Algorithm::ALL {
            let known = operation.algorithms().contains(&algorithm);
            assert_eq!(fits(operation, algorithm, 4), known, "{operation:?} {algorithm:?}");
            let always = known && !operation.needs_power_of_two(algorithm);
            assert_eq!(fits(operation, algorithm, 6), always, "{operation:?} {algorithm:?}");
        }
    }
}
