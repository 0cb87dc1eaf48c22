import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { before, describe, it } from 'node:test'
import { encodeUtf8, toBase64 } from '../../../core/bytes.ts'
import { checkpointText, createNoteSigner, openNote } from '../../../core/log/index.ts'
import { MerkleTree } from '../../support/merkle-tree.ts'
import { makeTemporary, removeTemporary } from '../../support/temporary.ts'

/** Debian's package golang-golang-x-mod-dev has the sources here. They need no download. */
const SOURCES = '/usr/share/gocode'
const hasGo = spawnSync('go', ['version']).status === 0 && existsSync(`${SOURCES}/src/golang.org/x/mod/sumdb/tlog`)
const skip = hasGo ? false : 'Go is missing: apt-get install golang-go golang-golang-x-mod-dev'

const SIZE = 40

interface Output {
  readonly notes: readonly string[]
  readonly inclusions: readonly boolean[]
  readonly consistencies: readonly boolean[]
  readonly vkey: string
  readonly signed: string
}

const base64 = (hashes: readonly Uint8Array[]): readonly string[] => hashes.map(toBase64)
const flipped = (bytes: Uint8Array): Uint8Array => bytes.map((byte, i) => (i === 5 ? byte ^ 1 : byte))

/** Every entry of every tree up to `SIZE`, every pair of trees, and a note of each. Every second one is damaged. */
function makeInput() {
  const signer = createNoteSigner('registry.example/log', new Uint8Array(32).fill(9))
  const tree = new MerkleTree()
  const roots = [tree.root()]
  const [notes, inclusions, consistencies] = [[], [], []] as [object[], object[], object[]]
  for (let size = 1; size <= SIZE; size++) {
    tree.add(encodeUtf8(`entry ${size - 1}`))
    const root = tree.root()
    roots.push(root)
    const text = checkpointText({ origin: 'registry.example/log', size, root })
    const note = signer.signNote(text)
    notes.push({ note, vkey: signer.verifierKey })
    notes.push({ note: note.replace(`\n${size}\n`, `\n${size + 1}\n`), vkey: signer.verifierKey })
    for (let index = 0; index < size; index++) {
      const proof = {
        entry: toBase64(encodeUtf8(`entry ${index}`)),
        index,
        size,
        path: base64(tree.inclusionProof(index)),
      }
      inclusions.push({ ...proof, root: toBase64(root) }, { ...proof, root: toBase64(flipped(root)) })
    }
    for (let from = 1; from < size; from++) {
      const [fromRoot = root, path] = [roots[from], base64(tree.consistencyProof(from))]
      const proof = { from, to: size, toRoot: toBase64(root), path }
      consistencies.push(
        { ...proof, fromRoot: toBase64(fromRoot) },
        { ...proof, fromRoot: toBase64(flipped(fromRoot)) },
      )
    }
  }
  return { notes, inclusions, consistencies }
}

describe("Go's note and tlog", { skip }, () => {
  let output: Output
  let input: ReturnType<typeof makeInput>
  before(async () => {
    const directory = await makeTemporary()
    input = makeInput()
    const { status, stdout, stderr } = spawnSync('go', ['run', resolve('test/services/independent/peer.go')], {
      input: JSON.stringify(input),
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, GOPATH: SOURCES, GO111MODULE: 'off', GOFLAGS: '', GOCACHE: `${directory}/cache` },
    })
    await removeTemporary(directory)
    assert.equal(status, 0, stderr)
    output = JSON.parse(stdout) as Output
  })

  const everySecond = (count: number): readonly boolean[] => Array.from({ length: count }, (_, i) => i % 2 === 0)

  it('opens our checkpoints, and no changed one', () => {
    assert.equal(output.notes.length, 2 * SIZE)
    for (const [i, text] of output.notes.entries())
      if (i % 2 === 0) assert.match(text, new RegExp(`^registry\\.example/log\\n${i / 2 + 1}\\n`))
      else assert.equal(text, '')
  })

  it('accepts our inclusion proofs, and none for another root', () => {
    assert.deepEqual(output.inclusions, everySecond(SIZE * (SIZE + 1)))
  })

  it('accepts our consistency proofs, and none for another root', () => {
    assert.deepEqual(output.consistencies, everySecond(SIZE * (SIZE - 1)))
  })

  it('signs notes that we open', () => {
    assert.equal(openNote(output.signed, output.vkey), 'go.example/log\n1\nAAAA\n')
    assert.throws(() => openNote(output.signed.replace('\n1\n', '\n2\n'), output.vkey), { code: 'VERIFICATION_FAILED' })
  })
})
