use crosstalk_work::app::pagerank::{build::build, exchange::Alone, rmat::Rmat, source::Source};
use std::time::Instant;
fn main() {
    let a: Vec<u64> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let t = Instant::now();
    let s = Source::Rmat(Rmat::new(a[0] as u32, a[1], 1));
    let e = s.extent().unwrap();
    let mut ch = s.open(0, 1).unwrap();
    let mut v = vec![];
    let mut x = 0u64;
    while ch.next(&mut v).unwrap() {
        x ^= v[0].source as u64;
    }
    eprintln!("gen {:?} {x}", t.elapsed());
    let t = Instant::now();
    let (shard, _) = build(&s, e, 1, &mut Alone).unwrap();
    eprintln!("build {:?} vertices {} slots {}", t.elapsed(), shard.vertices(), shard.slots());
    let slots = vec![1.0; shard.slots()];
    let mut out = vec![0.0; shard.vertices()];
    for _ in 0..5 {
        let t = Instant::now();
        shard.gather(&slots, 0.15, |r, v| out[r] = v);
        let d = t.elapsed().as_secs_f64();
        eprintln!("gather {d} {} Medges/s {}", shard.edges() as f64 / d / 1e6, out[5]);
    }
}
