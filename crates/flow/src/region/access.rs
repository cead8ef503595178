//! Which data a task uses.

use super::Region;
use super::held::Held;
use super::history::{Histories, Place, UsedTwice};

/// That a task reads or writes a datum, or a part of one: an argument of
/// [`Region::task`](super::Region::task), made by `read` or `write` of the datum. `H` says what the
/// body gets: [`Shared`](super::Shared), [`Exclusive`](super::Exclusive),
/// [`SharedTile`](super::SharedTile) or [`ExclusiveTile`](super::ExclusiveTile).
#[derive(Debug)]
#[must_use = "an access does nothing until a task has it"]
pub struct Access<H> {
    place: Place,
    is_write: bool,
    held: H,
}

impl<H> Access<H> {
    pub(super) fn read(place: Place, held: H) -> Access<H> {
        Access { place, is_write: false, held }
    }

    pub(super) fn write(place: Place, held: H) -> Access<H> {
        Access { place, is_write: true, held }
    }
}

/// An access, or several. (Only this crate can name the trait, so only its types are accesses.)
pub trait Accesses {
    /// What the task holds when they are declared.
    type Held;

    /// The region's next task comes after what these accesses conflict with.
    ///
    /// # Panics
    /// If they are of another region, or conflict with each other.
    #[track_caller]
    fn declare(self, region: &mut Region<'_>) -> Self::Held;
}

impl<H: Held> Accesses for Access<H> {
    type Held = H;

    #[track_caller]
    fn declare(self, region: &mut Region<'_>) -> H {
        let Access { place, is_write, held } = self;
        assert!(
            place.region == region.number,
            "these data are of another region: a task uses those that its own region was given"
        );
        let declare = if is_write { Histories::write } else { Histories::read };
        let (task, edges) = (region.graph.len(), region.graph.edges());
        if let Err(UsedTwice) = declare(&mut region.histories, &place, task, edges) {
            panic!(
                "this task has two accesses to the same data, and writes by one of them: give it one access for both, \
                 or ranges that do not overlap"
            );
        }
        held
    }
}

impl<A: Accesses> Accesses for Vec<A> {
    type Held = Vec<A::Held>;

    #[track_caller]
    fn declare(self, region: &mut Region<'_>) -> Vec<A::Held> {
        // (A loop: a closure would not be where the caller is.)
        let mut held = Vec::with_capacity(self.len());
        for access in self {
            held.push(access.declare(region));
        }
        held
    }
}

impl Accesses for () {
    type Held = ();

    fn declare(self, _region: &mut Region<'_>) {}
}

macro_rules! tuples {
    ($($access:ident $at:tt),*) => {
        impl<$($access: Accesses),*> Accesses for ($($access,)*) {
            type Held = ($($access::Held,)*);

            #[track_caller]
            fn declare(self, region: &mut Region<'_>) -> Self::Held {
                ($(self.$at.declare(region),)*)
            }
        }
    };
}

tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
