//! Users by number and by what they do, for people: numbers from 1.

use crosstalk_core::quoted;

/// Users by number from 1, runs of them in short: `users 1 to 3, 6`. `users` count from 0.
pub fn numbers(users: &[usize]) -> String {
    let mut sorted: Vec<usize> = users.iter().map(|user| user + 1).collect();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [first, .., last] => format!("{first} to {last}"),
        run => run.iter().map(usize::to_string).collect(),
    });
    let runs: Vec<String> = runs.collect();
    format!("{} {}", if users.len() == 1 { "user" } else { "users" }, runs.join(", "))
}

/// Users with what they do: `users 1 to 2 (stream 200%), user 5 (reread 5%)`. `activities` are those of all users.
pub fn users_in_words(users: &[usize], activities: &[String]) -> String {
    let mut kinds: Vec<(&str, Vec<usize>)> = Vec::new();
    for user in users {
        let what = activities.get(*user).map_or("", String::as_str);
        match kinds.iter_mut().find(|(known, _)| *known == what) {
            Some((_, same)) => same.push(*user),
            None => kinds.push((what, vec![*user])),
        }
    }
    let kinds: Vec<String> =
        kinds.iter().map(|(what, users)| format!("{} ({})", numbers(users), quoted(what))).collect();
    kinds.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_numbered_from_one_in_short() {
        assert_eq!(numbers(&[3]), "user 4");
        assert_eq!(numbers(&[5, 0, 1, 2, 7, 8]), "users 1 to 3, 6, 8 to 9");
    }

    #[test]
    fn users_are_named_by_what_they_do() {
        let activities = ["stream 200%", "stream 200%", "run ./job"].map(String::from);
        assert_eq!(users_in_words(&[2, 0, 1], &activities), "user 3 (run ./job), users 1 to 2 (stream 200%)");
    }
}
