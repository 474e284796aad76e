//! The official sizes and results (RNR-94-007, section 3; NAS-95-020; NAS-02-007 for class C).

use crate::class::Class;
use crate::flow::VALUES;

/// The size of a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Problem {
    /// Points in each direction.
    pub(super) points: usize,
    /// Iterations.
    pub(super) iterations: usize,
    /// The pseudo-time step.
    pub(super) step: f64,
}

impl Problem {
    pub(super) fn of(class: Class) -> Self {
        let (points, iterations, step) =
            class.of([(12, 50, 0.5), (33, 300, 1.5e-3), (64, 250, 2.0), (102, 250, 2.0), (162, 250, 2.0)]);
        Problem { points, iterations, step }
    }

    /// Operations as the reports count them: a polynomial in the number of points, times iterations.
    pub(super) fn operations(self) -> f64 {
        let n = self.points as f64;
        self.iterations as f64 * (1984.77 * n.powi(3) - 10923.3 * n.powi(2) + 27770.9 * n - 144_010.0)
    }
}

/// What a run results in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Results {
    /// The root mean square of the residual, of each value.
    pub(super) residual: [f64; VALUES],
    /// The same of the distance from the exact solution.
    pub(super) error: [f64; VALUES],
    /// The integral of pressure over the surface.
    pub(super) surface: f64,
}

/// The official results.
pub(super) fn results(class: Class) -> Results {
    class.of([S, W, A, B, C])
}

const S: Results = Results {
    residual: [
        1.619_634_321_097_670_2e-2,
        2.197_674_516_482_131_8e-3,
        1.517_992_765_339_918_5e-3,
        1.502_958_443_599_432_3e-3,
        3.426_407_315_589_646_1e-2,
    ],
    error: [
        6.422_331_995_796_092_4e-4,
        8.414_434_204_734_792_6e-5,
        5.858_826_961_648_518_6e-5,
        5.847_422_259_515_735_0e-5,
        1.310_334_791_411_129_4e-3,
    ],
    surface: 7.841_892_886_593_708_3,
};

const W: Results = Results {
    residual: [
        1.236_511_638_192e1,
        1.317_228_477_799,
        2.550_120_713_095,
        2.326_187_750_252,
        2.826_799_444_189e1,
    ],
    error: [
        4.867_877_144_216e-1,
        5.064_652_880_982e-2,
        9.281_818_101_960e-2,
        8.570_126_542_733e-2,
        1.084_277_417_792,
    ],
    surface: 1.161_399_311_023e1,
};

const A: Results = Results {
    residual: [
        7.790_210_760_668_936_7e2,
        6.340_276_525_969_287_0e1,
        1.949_924_972_729_247_9e2,
        1.784_530_116_041_853_7e2,
        1.838_476_034_946_424_7e3,
    ],
    error: [
        2.996_408_568_547_194_3e1,
        2.819_457_636_500_334_9,
        7.347_341_269_877_474_2,
        6.713_922_568_777_705_1,
        7.071_531_568_839_257_8e1,
    ],
    surface: 2.603_092_560_488_627_7e1,
};

const B: Results = Results {
    residual: [
        3.553_267_296_998_273_6e3,
        2.621_475_079_531_069_2e2,
        8.833_372_185_095_219_0e2,
        7.781_277_473_942_526_5e2,
        7.308_796_959_254_531_4e3,
    ],
    error: [
        1.140_117_638_021_270_9e2,
        8.109_896_365_542_157_4,
        2.848_059_731_769_830_8e1,
        2.590_539_456_783_293_9e1,
        2.605_490_750_485_741_3e2,
    ],
    surface: 4.788_716_270_330_822_7e1,
};

const C: Results = Results {
    residual: [
        1.037_669_803_235_378_46e4,
        8.922_124_588_010_085_52e2,
        2.562_388_145_826_608_71e3,
        2.191_943_438_578_314_27e3,
        1.780_780_572_610_611_85e4,
    ],
    error: [
        2.159_863_997_169_492_79e2,
        1.557_895_592_398_636_00e1,
        5.413_188_630_772_077_66e1,
        4.822_626_431_540_454_21e1,
        4.559_029_100_432_503_58e2,
    ],
    surface: 6.664_045_535_721_813_00e1,
};
