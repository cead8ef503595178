//! Prints: 2075520 pixels; row 500 is right; the brightest rows: [2, 1078]; 121393 leaves
//!
//! An image, as one works on it with rayon: a blur by rows and columns (`par_chunks_mut`), a
//! histogram (`fold` and `reduce`), its sums, a mapping (`par_iter_mut`), the sum of the rows
//! (`par_chunks` and `map`), a sort, and a recursion by `join`.

use myriad::par;

struct Image {
    width: usize,
    pixels: Vec<u8>,
}

impl Image {
    fn height(&self) -> usize {
        self.pixels.len() / self.width
    }

    fn transposed(&self) -> Image {
        let height = self.height();
        // (0..n).into_par_iter().map(..).collect()
        let pixels = par::map_index(0..self.pixels.len(), |i| self.pixels[i % height * self.width + i / height]);
        Image { width: height, pixels }
    }

    /// Each pixel is the mean of those up to `radius` beside it.
    fn blurred_rows(&self, radius: usize) -> Image {
        let mut pixels = vec![0; self.pixels.len()];
        // pixels.par_chunks_mut(width).enumerate().for_each(|(y, row)| ..)
        par::for_each_chunk_mut(&mut pixels, self.width, |y, row| {
            let from = &self.pixels[y * self.width..][..self.width];
            row.iter_mut().enumerate().for_each(|(x, to)| *to = mean(from, x, radius));
        });
        Image { width: self.width, pixels }
    }

    /// How many pixels have each value.
    fn histogram(&self) -> [u64; 256] {
        const BLOCK: usize = 4096;
        let count = |block: usize| {
            let mut counts = [0; 256];
            self.pixels[block * BLOCK..].iter().take(BLOCK).for_each(|&p| counts[p as usize] += 1);
            counts
        };
        let add = |mut a: [u64; 256], b: [u64; 256]| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        // par_chunks(BLOCK).map(count).reduce(|| [0; 256], add)
        par::map_reduce_index(0..self.pixels.len().div_ceil(BLOCK), count, [0; 256], add)
    }
}

fn mean(row: &[u8], x: usize, radius: usize) -> u8 {
    let window = &row[x.saturating_sub(radius)..row.len().min(x + radius + 1)];
    (window.iter().map(|&p| u32::from(p)).sum::<u32>() / window.len() as u32) as u8
}

/// The leaves of the tree of calls of a Fibonacci number.
fn leaves(n: u32) -> u64 {
    if n < 2 {
        return 1;
    }
    let (a, b) = myriad::join(|| leaves(n - 1), || leaves(n - 2)); // rayon::join
    a + b
}

fn main() {
    let rt = myriad::Builder::new().workers(2).build().unwrap(); // ThreadPoolBuilder
    rt.run(|| {
        // pool.install
        let pixels = par::map_index(0..1920 * 1081_usize, |i| ((i * 2_654_435_761) >> 7) as u8);
        let image = Image { width: 1920, pixels };
        let rows = image.blurred_rows(3);
        let mut blurred = rows.transposed().blurred_rows(3).transposed();

        let column: Vec<u8> = (0..1081).map(|y| rows.pixels[y * 1920 + 7]).collect();
        assert_eq!(blurred.pixels[500 * 1920 + 7], mean(&column, 500, 3));

        let mut sums = blurred.histogram();
        par::scan_inclusive(&mut sums, |a, b| a + b);
        let all = blurred.pixels.len() as u64;
        assert_eq!(sums[255], all);
        par::for_each_mut(&mut blurred.pixels, |p| *p = (sums[*p as usize] * 255 / all) as u8);

        // par_chunks(width).map(..).collect(), enumerate, par_sort_by_key
        let light = |y: usize| blurred.pixels[y * 1920..][..1920].iter().map(|&p| u64::from(p)).sum::<u64>();
        let mut order = par::map_index(0..blurred.height(), |y| (light(y), y));
        par::sort_by_key(&mut order, |&(light, _)| std::cmp::Reverse(light));
        let brightest: Vec<_> = order.iter().take(2).map(|&(_, y)| y).collect();
        println!("{all} pixels; row 500 is right; the brightest rows: {brightest:?}; {} leaves", leaves(25));
    });
}
