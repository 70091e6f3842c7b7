//go:build race

package wire

// raceDetector tells that pools drop at random what is put back.
const raceDetector = true
