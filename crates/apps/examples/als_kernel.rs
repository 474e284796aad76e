//! ALS alone, on one core, without a network: what `bench/als_vs_peer.py` sets
//! beside another library.
//!
//! `als_kernel SCALE SEED RANK LAMBDA ITERATIONS RATINGS FACTORS` writes the
//! generated ratings for training to the file RATINGS (user and item, 32-bit;
//! stars, 32-bit floating-point; little-endian). Then, for every line on standard
//! input, it sorts them into rows and trains a model, and prints the seconds that
//! both took and those that sorting took. At the end of the input it writes the
//! model to the file FACTORS (0 for a user or 1 for an item, id, 32-bit; vector).

use crosstalk_apps::als::config::Config;
use crosstalk_apps::als::model::Model;
use crosstalk_apps::als::node::UntimedNode;
use crosstalk_apps::als::rating::Split;
use crosstalk_apps::als::shard::{Shard, ShardSide};
use crosstalk_apps::als::train::train;
use crosstalk_apps::exchange::Alone;
use crosstalk_core::Fault;
use crosstalk_core::value::Params;
use std::fs::File;
use std::io::{BufWriter, Write, stdin};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("als_kernel: {fault}");
            ExitCode::from(fault.kind.exit_code())
        }
    }
}

fn run() -> Result<(), Fault> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scale, seed, rank, lambda, iterations, ratings, factors] = arguments.as_slice() else {
        return Err(Fault::usage("expected SCALE SEED RANK LAMBDA ITERATIONS RATINGS FACTORS"));
    };
    let params = Params::default()
        .with("scale", number(scale)?)
        .with("seed", number(seed)? as i64)
        .with("rank", number(rank)?)
        .with("lambda", number(lambda)?)
        .with("iterations", number(iterations)?);
    let config = Config::from_params(&params)?;
    let split = config.source.open(None)?.read_split()?;
    let words = split.training.iter().flat_map(|r| [r.user, r.item, r.stars.to_bits()]);
    write(ratings, words)?;
    println!("{}", split.training.len());

    let mut last = None;
    for _ in stdin().lines() {
        let split = Split { training: split.training.clone(), ..Split::default() };
        let (mut alone, begin) = (Alone, Instant::now());
        let mut node = UntimedNode(&mut alone);
        let shard = Shard::build(split, &mut node)?;
        let sorted = begin.elapsed();
        let model = train(&shard, &config.grid[0], config.seed, &mut node)?;
        println!("{} {}", begin.elapsed().as_secs_f64(), sorted.as_secs_f64());
        last = Some((shard, model));
    }
    last.map_or(Ok(()), |(shard, model)| write_model(factors, &shard, &model))
}

fn number(text: &str) -> Result<f64, Fault> {
    text.parse().map_err(|_| Fault::usage(format!("expected a number, found `{text}`")))
}

fn write_model(path: &str, shard: &Shard, model: &Model) -> Result<(), Fault> {
    let sides: [(u32, &ShardSide, _); 2] = [(0, &shard.users, &model.users), (1, &shard.items, &model.items)];
    let words = sides.into_iter().flat_map(|(which, side, factors)| {
        side.rows.ids.iter().enumerate().flat_map(move |(row, id)| {
            [which, *id].into_iter().chain(factors.row(row).iter().map(|x| x.to_bits()))
        })
    });
    write(path, words)
}

fn write(path: &str, words: impl Iterator<Item = u32>) -> Result<(), Fault> {
    let write = move || {
        let mut file = BufWriter::new(File::create(path)?);
        for word in words {
            file.write_all(&word.to_le_bytes())?;
        }
        file.flush()
    };
    write().map_err(|e: std::io::Error| Fault::environment(format!("cannot write: {e}")).at(path))
}
