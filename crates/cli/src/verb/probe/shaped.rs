//! Virtual nodes whose links are shaped to a fabric's rate.

use crosstalk_core::Fault;
use crosstalk_core::testbed::Link;
use crosstalk_core::units::digits;
use crosstalk_study::plan::Place;
use crosstalk_study::scale::scaled_link;

use crate::catalogue;

/// Virtual nodes, with links of a fabric.
pub fn place(fabric: &str, scale: Option<f64>, nodes: usize) -> Result<Place, Fault> {
    let scale = divisor(fabric, scale)?;
    let link = match fabric {
        "none" => Link::Unshaped,
        name => scaled_link(catalogue::catalogues(&[])?.find_fabric(name)?.rate, scale)
            .map_err(|fault| fault.at("--scale"))?,
    };
    Ok(Place::Real { fabric: fabric.into(), link, scale, nodes })
}

/// The divisor of the fabric's rate.
fn divisor(fabric: &str, scale: Option<f64>) -> Result<f64, Fault> {
    match scale {
        None => Ok(1.0),
        Some(_) if fabric == "none" => {
            Err(Fault::usage("there is no rate to scale down").at("--scale").remedy("add --fabric"))
        }
        Some(scale) if scale.is_finite() && scale >= 1.0 => Ok(scale),
        Some(scale) => Err(Fault::usage(format!("expected a number of at least 1, found {}", digits(scale)))
            .at("--scale")
            .remedy("write for example --scale 50")),
    }
}
