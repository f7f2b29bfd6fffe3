//! The order of the subjects inside each round. Pure and seeded: equal seeds give equal orders, and
//! every prefix of whole blocks is balanced, so that a run cut short is not tilted.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// Endless orders for rounds of `subjects` subjects.
///
/// Two subjects: blocks of two rounds, each leading once, which one first decided by the seed.
/// More: blocks that follow a Williams design (every subject stands once, or twice for an odd
/// number, at each position, and follows every other equally often), relabelled at random per
/// block. Source: Williams (1949), Experimental designs balanced for the estimation of residual
/// effects.
#[derive(Debug)]
pub struct Schedule {
    subjects: usize,
    random: StdRng,
    block: Vec<Vec<usize>>,
}

impl Schedule {
    /// A schedule for at least one subject.
    pub fn new(subjects: usize, seed: u64) -> Schedule {
        Schedule { subjects, random: StdRng::seed_from_u64(seed), block: Vec::new() }
    }

    /// The order of the next round, a permutation of `0..subjects`.
    pub fn next_round(&mut self) -> Vec<usize> {
        if self.block.is_empty() {
            self.block = self.next_block();
        }
        // Blocks are stored last first.
        self.block.pop().unwrap_or_else(|| (0..self.subjects).collect())
    }

    /// The number of rounds after which leads are balanced again.
    pub fn block_length(&self) -> usize {
        match self.subjects {
            0 | 1 => 1,
            n if n % 2 == 0 => n,
            n => 2 * n,
        }
    }

    fn next_block(&mut self) -> Vec<Vec<usize>> {
        match self.subjects {
            0 | 1 => vec![(0..self.subjects).collect()],
            2 => {
                if self.random.random_range(0..2) == 0 {
                    vec![vec![0, 1], vec![1, 0]]
                } else {
                    vec![vec![1, 0], vec![0, 1]]
                }
            }
            n => {
                let mut labels: Vec<usize> = (0..n).collect();
                labels.shuffle(&mut self.random);
                let mut rows = williams(n);
                rows.shuffle(&mut self.random);
                for row in &mut rows {
                    for place in row.iter_mut() {
                        *place = labels[*place];
                    }
                }
                rows
            }
        }
    }
}

/// The rows of a Williams design for `n >= 2` treatments: `n` rows for even `n`, `2 n` for odd.
fn williams(n: usize) -> Vec<Vec<usize>> {
    // The first row zigzags 0, 1, n - 1, 2, n - 2, ..; the others add 1, 2, .. to it.
    let mut first = vec![0];
    let (mut up, mut down) = (1, n - 1);
    while first.len() < n {
        first.push(up);
        up += 1;
        if first.len() < n {
            first.push(down);
            down -= 1;
        }
    }
    let mut rows: Vec<Vec<usize>> =
        (0..n).map(|shift| first.iter().map(|x| (x + shift) % n).collect()).collect();
    if n % 2 == 1 {
        let mirrored: Vec<Vec<usize>> =
            rows.iter().map(|row| row.iter().rev().copied().collect()).collect();
        rows.extend(mirrored);
    }
    rows
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pairs_lead_equally_often_after_every_second_round() {
        let mut schedule = Schedule::new(2, 42);
        let mut lead = [0usize; 2];
        for round in 1..=200 {
            lead[schedule.next_round()[0]] += 1;
            if round % 2 == 0 {
                assert_eq!(lead[0], lead[1]);
            }
        }
    }

    #[test]
    fn the_seed_decides() {
        let orders = |seed| {
            let mut schedule = Schedule::new(2, seed);
            (0..64).map(|_| schedule.next_round()).collect::<Vec<_>>()
        };
        assert_eq!(orders(1), orders(1));
        assert_ne!(orders(1), orders(2));
    }

    proptest! {
        #[test]
        fn whole_blocks_balance_position_and_predecessor(n in 2usize..=16, seed: u64) {
            let mut schedule = Schedule::new(n, seed);
            let rounds: Vec<_> = (0..schedule.block_length()).map(|_| schedule.next_round()).collect();
            let repeats = rounds.len() / n;
            for subject in 0..n {
                for position in 0..n {
                    let times = rounds.iter().filter(|r| r[position] == subject).count();
                    prop_assert_eq!(times, repeats);
                }
            }
            for before in 0..n {
                for after in (0..n).filter(|a| *a != before) {
                    let times: usize = rounds
                        .iter()
                        .map(|r| r.windows(2).filter(|w| w[0] == before && w[1] == after).count())
                        .sum();
                    // Every ordered neighbourhood occurs equally often.
                    prop_assert_eq!(times, rounds.len() * (n - 1) / (n * (n - 1)));
                }
            }
        }
    }
}
