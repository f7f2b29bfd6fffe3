//! What a verdict costs: the statistics that run after each launch. Measured with nbench itself.

use nbench::{Suite, Throughput};
use nbench_engine::Schedule;
use nbench_engine::stats::{hodges_lehmann, median, signed_rank_interval, trimmed_mean};

fn estimates(count: usize) -> Vec<f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        })
        .collect()
}

fn location(suite: &mut Suite) {
    let launches = estimates(24);
    suite.bench("hodges_lehmann/24", || hodges_lehmann(&launches));
    suite.bench("signed_rank_interval/24", || signed_rank_interval(&launches, 0.025));
    let mut group = suite.group("trimmed_mean");
    for pairs in [80, 800] {
        let ratios = estimates(pairs);
        group.throughput(Throughput::Elements(pairs as u64));
        group.bench_with(("pairs", pairs), &ratios, |b, ratios| {
            b.iter(|| trimmed_mean(ratios, 0.2));
        });
    }
}

fn order(suite: &mut Suite) {
    suite.bench_fn("schedule/pairs", |b| {
        b.with_setup(|| Schedule::new(2, 7)).iter_ref(|schedule| {
            for _ in 0..80 {
                nbench::black_box(schedule.next_round());
            }
        });
    });
    let values = estimates(1000);
    suite
        .compare("median of 1000")
        .reference("type 7 percentile", || median(&values))
        .contender("sort a copy", || {
            let mut copy = values.clone();
            copy.sort_by(f64::total_cmp);
            copy[copy.len() / 2]
        })
        .run();
}

nbench::main!(location, order);
