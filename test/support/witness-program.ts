import { createHash, createPrivateKey } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { TestWitness, treeOf } from './witness.ts'

/**
 * A witness in a process of its own: `witness-program.ts NAME FILE PORT SETTINGS`. FILE has the checkpoint that it
 * cosigned last. SETTINGS is a JSON object with members of `TestWitness`; each message is another one. It sends its
 * address and key when it listens, and the number of submissions after each of them.
 */
const [name = '', file = '', port = '', settings = ''] = process.argv.slice(2)

/** Of an Ed25519 key in PKCS #8, before its seed. */
const PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const seed = createHash('sha256').update(name).digest()
const key = createPrivateKey({ key: Buffer.concat([PREFIX, seed]), format: 'der', type: 'pkcs8' })

const witness = new TestWitness(name, key)
Object.assign(witness, { time: Math.floor(Date.now() / 1000) }, JSON.parse(settings))
if (existsSync(file)) witness.seen = treeOf(readFileSync(file, 'utf8'))
witness.onSubmission = () => {
  if (witness.seen !== undefined) writeFileSync(file, witness.seen.note)
  process.send?.({ submissions: witness.bodies.length })
}
process.on('message', (changes) => Object.assign(witness, changes))
await witness.listen(Number(port))
process.send?.({ url: witness.url, vkey: witness.vkey })
