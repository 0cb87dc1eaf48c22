import { generateCheckpointKey } from '../../adapters/files/index.ts'
import { runOperation } from '../control/client.ts'
import { listKeysOperation, markKeyOperation, rotateKeysOperation } from '../control/operations.ts'
import type { CheckpointKeyInfo } from '../../core/index.ts'
import { configError } from '../settings/config-error.ts'
import { keyringPath } from '../startup/checkpoint-keys.ts'
import { namesSigner } from '../startup/own-module.ts'
import { CHECKPOINT_KEYS, DATA_DIR, defineCommand, SECRET_FILE } from './command.ts'

const flags = { 'data-dir': DATA_DIR, 'secret-file': SECRET_FILE, 'checkpoint-keys': CHECKPOINT_KEYS } as const

/** `evidence-registry keys list`. */
export const listCommand = defineCommand({
  name: 'keys list',
  description: `
Lists the checkpoint keys of the log, oldest first, then those that only the keyring has: the tree sizes that each key
signs, its state, whether the keyring has its private key, and its verifier key. If the log has witnesses, the last line
is the submission key, by which they know it.`,
  flags,
  success: 'the keys are listed',
  async run(_, config) {
    const { keys, submissionKey } = await runOperation(listKeysOperation, {}, { config })
    process.stdout.write(keys.map(lineOf).join(''))
    if (typeof submissionKey === 'string') process.stdout.write(`submission key: ${submissionKey}\n`)
    return 0
  },
})

/** Aligned, so that a person can compare the rows. */
function lineOf({ vkey, state, from, until, isHeld, isCompromised }: CheckpointKeyInfo): string {
  const sizes = from === null ? '-' : `${from} to ${until ?? '…'}`
  const columns = [sizes.padEnd(16), (isCompromised ? 'stolen' : state).padEnd(8), isHeld ? 'held   ' : 'missing', vkey]
  return `${columns.join(' ')}\n`
}

/** `evidence-registry keys generate`. */
export const generateCommand = defineCommand({
  name: 'keys generate',
  description: `
Adds a new key to the keyring, which is created if it does not exist. The log is not changed: copy the keyring
to every server of the same log, then run keys rotate. Prints the public key, with which its verifier key
ends.`,
  flags: { 'data-dir': DATA_DIR, 'checkpoint-keys': CHECKPOINT_KEYS },
  success: 'the key is in the keyring',
  async run(_, config) {
    if (namesSigner(config))
      throw configError('A module has the checkpoint keys: make the new key where it keeps them, then run keys rotate')
    const path = keyringPath(config)
    const publicKey = await generateCheckpointKey(path)
    process.stdout.write(`${path}: new key ${Buffer.from(publicKey).toString('base64')}\n`)
    return 0
  },
})

/** `evidence-registry keys rotate`. */
export const rotateCommand = defineCommand({
  name: 'keys rotate',
  description: `
Puts the next key of the keyring into the log, signed by the current key. It signs every checkpoint from the
first batch that contains its entry; the old key signs none of these. If several servers share the records,
copy the keyring to each of them first, and confirm it with --all-servers-have-it: a server without the new
key can sign nothing any more. Afterwards, seal and publish the policy again: verifiers pin it.
With --compromised, proofs that were made before must be fetched again: see OPERATIONS.md.`,
  flags: {
    ...flags,
    'all-servers-have-it': { doc: 'every server that shares the records has the new key' },
    compromised: { doc: 'others may know the current key: marks it in the policy' },
  },
  success: 'the key is in the log',
  async run({ 'all-servers-have-it': allServersHaveIt = false, compromised = false }, config) {
    const key = await runOperation(rotateKeysOperation, { allServersHaveIt, compromised }, { config })
    process.stdout.write(`from tree size ${key.from} on: ${key.vkey}\n`)
    return 0
  },
})

/** `evidence-registry keys mark-compromised`. */
export const markCommand = defineCommand({
  name: 'keys mark-compromised',
  operand: 'VKEY',
  description: `
Marks an earlier key of which it turned out that others know it. The policy says so at once: publish it again.
Proofs that an earlier stamp saved must be fetched again: see OPERATIONS.md.`,
  flags,
  success: 'the key is marked',
  async run(_, config, vkey) {
    await runOperation(markKeyOperation, { vkey }, { config })
    return 0
  },
})
