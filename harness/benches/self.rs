//! What the harness itself costs: the codec of the wire, and the timing loop around empty bodies.
//! It must not use anything that is not public.

use nbench::wire::{FromDriver, FromWorker};
use nbench::{black_box, clobber_memory, Suite, Throughput};

fn wire(suite: &mut Suite) {
    let mut group = suite.group("wire");
    for count in [1, 100] {
        let samples = FromWorker::Samples {
            iters: 1000,
            wall: (0..count).map(|index| 1_000_000 + index).collect(),
            spent: (0..count).map(|index| 1_000_100 + index).collect(),
            cpu: Ok(1_000_050),
            thread_cpu: Err("no such clock".to_owned()),
            threads: Ok(1),
            own: Vec::new(),
        };
        let line = samples.encode();
        group.throughput(Throughput::Bytes(line.len() as u64));
        group.bench_with(("encode samples", count), &samples, |b, samples| {
            b.iter(|| samples.encode());
        });
        group.bench_with(("decode samples", count), line.as_bytes(), |b, line| {
            b.iter(|| FromWorker::decode(line));
        });
    }
    let batch = FromDriver::Batch { case: 0, iters: 1000, count: 20 }.encode();
    group.throughput(Throughput::Bytes(batch.len() as u64));
    group.bench("decode batch", || FromDriver::decode(black_box(batch.as_bytes())));
}

fn overhead(suite: &mut Suite) {
    let mut group = suite.group("overhead");
    group.bench("empty body", || ());
    group.bench("black_box", || black_box(1_u64));
    group.bench("clobber_memory", clobber_memory);
    group.bench("clock", nbench::probe::clock::now);
    group.bench_fn("set-up by value", |b| b.with_setup(|| 1_u64).iter(|input| input));
    group.bench_fn("set-up by reference", |b| b.with_setup(|| 1_u64).iter_ref(|input| *input += 1));
    group.bench_fn("dropped outside", |b| b.iter_drop_outside(|| 1_u64));
}

nbench::main!(wire, overhead);
