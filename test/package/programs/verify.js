// Checks what embed.js printed, with nothing of the store: once as it is, once with a byte changed.
import { readFileSync } from 'node:fs'
import { verifyHistory, verifyProof } from 'evidence-registry/verify'

const { verifierKey, events, proofs } = JSON.parse(readFileSync('proofs.json', 'utf8'))
const history = verifyHistory(events)
if (history.events.length !== 2) throw new Error('The history has two events')
for (const proof of proofs) {
  const policy = { keys: [{ vkey: verifierKey }] }
  const { ok, steps } = verifyProof(JSON.stringify(proof), { policy })
  if (!ok) throw new Error(JSON.stringify(steps))
  const changed = JSON.stringify(proof).replace(/"leafIndex":\d+/, '"leafIndex":0')
  if (verifyProof(changed, { policy }).ok) throw new Error('A changed proof passed')
}
process.stdout.write(`${history.events.length} events and ${proofs.length} proofs verified\n`)
