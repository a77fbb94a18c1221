//go:build unix && attack

package main

func init() { kills = 30 }
