//! Runs kernels with the widest vector instructions of this processor. A program that is
//! built for any x86-64 uses only SSE2, unless it checks the processor at run time.

/// A computation that is compiled once for each set of vector instructions.
pub trait VectorKernel {
    /// Its result.
    type Output;

    /// Computes. `FUSED`: `f64::mul_add` is one instruction, not a slow function. An
    /// implementation, and all that it calls, must be `#[inline(always)]`; else it is
    /// compiled for the oldest processor.
    fn run<const FUSED: bool>(self) -> Self::Output;
}

/// Runs a kernel with the widest available instructions.
pub fn run_widest<K: VectorKernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
        {
            // SAFETY: the processor has just said that it has these instructions.
            return unsafe { avx512(kernel) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has just said that it has these instructions.
            return unsafe { avx2(kernel) };
        }
    }
    // On 64-bit ARM, vectors and fused multiply-add are part of every processor.
    kernel.run::<{ cfg!(target_arch = "aarch64") }>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,fma")]
fn avx512<K: VectorKernel>(kernel: K) -> K::Output {
    kernel.run::<true>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<K: VectorKernel>(kernel: K) -> K::Output {
    kernel.run::<true>()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Dot<'a>(&'a [f64], &'a [f64]);

    impl VectorKernel for Dot<'_> {
        type Output = f64;

        #[inline(always)]
        fn run<const FUSED: bool>(self) -> f64 {
            let pairs = self.0.iter().zip(self.1);
            pairs.fold(0.0, |sum, (a, b)| if FUSED { a.mul_add(*b, sum) } else { a * b + sum })
        }
    }

    #[test]
    fn a_kernel_computes_the_same_with_any_instructions() {
        let numbers: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(run_widest(Dot(&numbers, &numbers)), 328_350.0);
        assert_eq!(Dot(&numbers, &numbers).run::<false>(), 328_350.0);
    }
}
