// Checks notes and tree proofs with the packages of Go's checksum database. Reads JSON from the standard input, and
// prints one JSON array of booleans per kind, and a note that Go signed.
package main

import (
	"crypto/rand"
	"encoding/json"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type input struct {
	Notes []struct {
		Note string `json:"note"`
		Vkey string `json:"vkey"`
	} `json:"notes"`
	Inclusions []struct {
		Entry []byte   `json:"entry"`
		Index int64    `json:"index"`
		Size  int64    `json:"size"`
		Root  []byte   `json:"root"`
		Path  [][]byte `json:"path"`
	} `json:"inclusions"`
	Consistencies []struct {
		From     int64    `json:"from"`
		FromRoot []byte   `json:"fromRoot"`
		To       int64    `json:"to"`
		ToRoot   []byte   `json:"toRoot"`
		Path     [][]byte `json:"path"`
	} `json:"consistencies"`
}

type output struct {
	Notes         []string `json:"notes"`
	Inclusions    []bool   `json:"inclusions"`
	Consistencies []bool   `json:"consistencies"`
	Vkey          string   `json:"vkey"`
	Signed        string   `json:"signed"`
}

func hash(bytes []byte) (out tlog.Hash) {
	copy(out[:], bytes)
	return out
}

func hashes(path [][]byte) (out []tlog.Hash) {
	for _, bytes := range path {
		out = append(out, hash(bytes))
	}
	return out
}

// open returns the text of a note that the key signed, or nothing.
func open(text, vkey string) string {
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return ""
	}
	opened, err := note.Open([]byte(text), note.VerifierList(verifier))
	if err != nil {
		return ""
	}
	return opened.Text
}

func main() {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		panic(err)
	}
	var out output
	for _, each := range in.Notes {
		out.Notes = append(out.Notes, open(each.Note, each.Vkey))
	}
	for _, each := range in.Inclusions {
		leaf := tlog.RecordHash(each.Entry)
		err := tlog.CheckRecord(hashes(each.Path), each.Size, hash(each.Root), each.Index, leaf)
		out.Inclusions = append(out.Inclusions, err == nil)
	}
	for _, each := range in.Consistencies {
		err := tlog.CheckTree(hashes(each.Path), each.To, hash(each.ToRoot), each.From, hash(each.FromRoot))
		out.Consistencies = append(out.Consistencies, err == nil)
	}
	skey, vkey, err := note.GenerateKey(rand.Reader, "go.example/log")
	if err != nil {
		panic(err)
	}
	signer, err := note.NewSigner(skey)
	if err != nil {
		panic(err)
	}
	signed, err := note.Sign(&note.Note{Text: "go.example/log\n1\nAAAA\n"}, signer)
	if err != nil {
		panic(err)
	}
	out.Vkey, out.Signed = vkey, string(signed)
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		panic(err)
	}
}
