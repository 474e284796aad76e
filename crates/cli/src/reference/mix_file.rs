//! The mix file: its lines, and every kind of test.

use super::markdown::{code, prose, table};
use super::page::Page;

const LINES: &str = "\
# Mix file

What many users of one machine do: `mix = \"FILE\"` in a study (workload [users](workloads/users.md)), or \
`--mix FILE` of `crosstalk groups tune` and `crosstalk probe users`. A name with a `/` or an end of `.mix` is a file. \
`#` begins a comment. A file has lines of one of two forms.

## What each user does

```text
2  users  stream  200%         # they read through a file as fast as they can, until all others are done
14 users  reread  4.6%         # each reads a file of its own again and again, with pauses of 2 to 8 ms
3  users  run     ./job --fast # each runs a command once, by `sh -c`; all that follows `run` is the command
```

A size is a share of the memory that all users have together (`--memory`), or ends in `K` or `M`: `24M`. `user` \
and `users` are the same. A command that fails fails the run. If another number of users is asked for, each line \
has its share of them, and at least one.

## Jobs, as in AIM7's workfiles

```text
FILESIZE: 10K
POOLSIZE: 1M
30 add_int
5  disk_rr
```

Each user does `jobs` jobs (100), in a random order of its own. A kind of test comes up in proportion to its hits, the \
number before it. A disk test's file has FILESIZE (10K if there is no such line), and an equal part of POOLSIZE (0) for \
each user. Without hits a test is left out.

## Kinds of test

What one job does, at a `work` of 1:

";

/// The page of the mix file.
pub fn page() -> Page {
    let rows = crosstalk_users::test::tests().iter().map(|test| [code(test.name), prose(test.title)]);
    Page::new("mix-file.md", format!("{LINES}{}", table(["test", "one job"], rows)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_users::mix::Mix;

    #[test]
    fn each_example_on_the_page_is_a_mix_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let examples: Vec<&str> = LINES.split("```").skip(1).step_by(2).collect();
        assert_eq!(examples.len(), 2);
        for example in examples {
            let file = folder.path().join("example.mix");
            std::fs::write(&file, example.trim_start_matches("text")).expect("writes");
            Mix::find(file.to_str().expect("is text")).expect("reads");
        }
    }
}
