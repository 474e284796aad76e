# Two commands matter: `make run` and `make test`.
SHELL := bash
.PHONY: run test bench static
# What was measured is kept with the revision that measured it.
run bench: export CROSSTALK_REVISION := $(shell git describe --always --dirty 2>/dev/null)

# Checks what is missing, installs it (asks first), builds, runs the main job.
run:
	@tools/setup run $(ARGS)
	@echo 'building, about three minutes from nothing'
	@cargo build --release --locked --quiet
	@target/release/crosstalk run kosmos --quick
	@echo 'to have the command `crosstalk` in this shell: export PATH=$(CURDIR)/target/release:$$PATH'

# Every check, with the time of each room.
test:
	@tools/setup test --yes
	@tools/test

# Ratios to peers with 95 % bounds, and every figure the project promises: hours, most of
# them kosmos_whole and native_vs_spark. ONLY="aa cluster" runs only those of bench/*.py.
bench:
	@tools/setup bench $(ARGS)
	@cargo build --release --locked --quiet
	@tools/bench $(ONLY)

# One static program that runs on any Linux of this architecture. LIBC=musl or LIBC=gnu
# asks for a C library; else it is musl where Rust has that target.
static:
	@tools/static
