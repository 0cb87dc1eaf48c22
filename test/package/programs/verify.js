// Checks what embed.js printed, with nothing of the store: once as it is, once with a byte changed.
import { readFileSync } from 'node:fs'
import { parsePolicy, verifyBundle } from 'evidence-registry/verify'

const { policy: shown, bundles } = JSON.parse(readFileSync('proofs.json', 'utf8'))
const policy = parsePolicy(JSON.stringify(shown))
for (const bundle of bundles) {
  const text = JSON.stringify(bundle)
  const result = verifyBundle(text, { policy })
  if (result.state !== 'proven') throw new Error(JSON.stringify(result))
  const changed = text.replace(/"position":\d+/, '"position":7')
  if (verifyBundle(changed, { policy }).state !== 'refuted') throw new Error('A changed bundle passed')
}
process.stdout.write(`${bundles.length} bundles verified\n`)
