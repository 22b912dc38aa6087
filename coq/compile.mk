# Every theory after those that it needs, two at a time; build/depend says which.
COMPILED := $(shell sed -n 's/^\(theories.*\)\.v$$/\1.vo/p' _CoqProject)

all: $(COMPILED)

include build/depend

theories/%.vo: theories/%.v
	@echo "coqc $<"
	@cd build && coqc -Q ../theories Inbounds ../$< > $*.v.txt
