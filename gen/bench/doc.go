// Package bench measures package gen beside the libraries that its users would
// take otherwise, all in one run:
//
//	cd gen/bench && go test -bench . -count 5
//
// It is a module of its own, so that those libraries stay out of the product's
// go.mod. BenchmarkTargets gives the ratios that gen is held to. Each of its
// candidates runs in short turns with the others and is judged by its fastest
// turn, so that a busy machine slows all of them alike.
package bench
