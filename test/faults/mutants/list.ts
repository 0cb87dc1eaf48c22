/** A bug that is planted into the compiled program. */
export interface Mutant {
  readonly name: string
  /** The module, below `dist/` and without its extension. */
  readonly module: string
  /** Text of the compiled module. It must occur exactly once. */
  readonly find: string
  readonly replace: string
  /** The tests that must catch it, below `dist/test/` and without `.test.js`. Each of them must fail. */
  readonly tests: readonly string[]
}

const NEVER = 'if (false)'

/** A rule of the verifier of events and whole logs that is not checked. */
const uncheckedRule = (name: string, module: 'event' | 'history-check' | 'log', condition: string): Mutant => ({
  name: `not rejected: ${name}`,
  module: `core/verify/${module}`,
  find: `if (${condition})`,
  replace: NEVER,
  tests: [module === 'log' ? 'core/verify/log' : 'core/verify/event'],
})

/** A rule that events of one history must keep is not checked. */
const uncheckedHistoryRule = (name: string, condition: string): Mutant => ({
  ...uncheckedRule(name, 'history-check', condition),
  tests: ['core/verify/forged-bundle'],
})

/** CI plants the first ones, which are of different parts and quickly tested. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'LevelDB batches are not synced',
    module: 'adapters/level/records',
    find: 'batch.write({ sync: true })',
    replace: 'batch.write({ sync: false })',
    tests: ['adapters/level/synced-writes'],
  },
  {
    name: 'a start accepts another tree of the signed size',
    module: 'core/log/signed-head',
    find: 'if (signed !== undefined && !equalBytes(',
    replace: 'if (signed !== undefined && signed.size !== head.size && !equalBytes(',
    tests: ['core/registry/signed-head'],
  },
  {
    name: 'salts follow from the version',
    module: 'core/registry/event/event',
    find: 'seed = newSeed()) {',
    replace: 'seed = toHex(new Uint8Array(SALT_BYTES).fill(draft.version))) {',
    tests: ['core/registry/event/event'],
  },
  {
    name: 'an error 500 shows the text of CORRUPT',
    module: 'server/http/errors',
    find: 'CORRUPT: internal,',
    replace: "CORRUPT: { status: 500, code: 'INTERNAL' },",
    tests: ['server/http/errors'],
  },
  {
    name: 'commits ignore their checks',
    module: 'core/store/commit-plan',
    find: '(current(key)?.version ?? null) !== version &&',
    replace: 'false &&',
    tests: ['core/store/commit-plan'],
  },
  {
    name: 'every signature of a note verifies',
    module: 'core/log/note',
    find: 'return verifyEd25519(publicKey, bytes, signature);',
    replace: 'return true;',
    tests: ['core/log/note'],
  },
  {
    name: 'a sealer takes over a lease that was just renewed',
    module: 'sealer/lease',
    find: 'if (now - this.#unchangedSince(entry.version, now) < this.#leaseMs)',
    replace: NEVER,
    tests: ['sealer/lease'],
  },
  {
    name: 'the half-filled tile of 256 hashes is served',
    module: 'server/contract/log',
    find: 'Number(width ?? 0) >= TILE_WIDTH',
    replace: 'Number(width ?? 0) > TILE_WIDTH',
    tests: ['server/contract/log'],
  },
  {
    name: 'closing does not wait for the sealer',
    module: 'core/registry/open',
    find: 'await Promise.all([settle(options?.sealer), settle(options?.eventEngine)])',
    replace: "[settle(options?.sealer) && { status: 'fulfilled' }, await settle(options?.eventEngine)]",
    tests: ['core/registry/open'],
  },
  uncheckedRule('two events in one slot of the log', 'log', 'slots.has(text)'),
  uncheckedRule('a log with another root than its checkpoint', 'log', '!equalBytes(signed.root, tree.root())'),
  uncheckedRule('a first key that is not entry 0', 'log', 'entries[0]?.position !== 0'),
  uncheckedHistoryRule('an event of another history', 'version > 1 && event.first !== first.txId'),
  uncheckedHistoryRule('an event that does not link to the one before', 'version > 1 && event.prev !== previous?.txId'),
  // Of a bundle, every event must already be of the log that the caller expects.
  uncheckedRule('an event of another log', 'history-check', 'event.log !== first.log'),
  uncheckedHistoryRule('time that goes back', 'event.time < (previous?.time ?? 0)'),
  uncheckedHistoryRule('an event in another slot', 'slotKey !== undefined'),
  uncheckedHistoryRule('an event of another company or evidence', 'earlier !== text'),
  uncheckedHistoryRule('the deletion of a file that was never attached', 'this.#attached.get(id) !== file.deleted'),
  uncheckedHistoryRule('a second deletion', 'this.#deleted.has(id)'),
  uncheckedRule(
    'links in version 1, or none in a later one',
    'event',
    '(first === null) !== (version === 1) || (prev === null) !== (version === 1)',
  ),
  {
    ...uncheckedRule('a header of another format', 'event', ''),
    find: "header['v'] !== 1 || version < 1",
    replace: 'version < 1',
  },
  uncheckedRule('a text that names another file', 'event', "file['id'] !== fileId"),
  {
    name: 'a transaction to another recipient is an anchor',
    module: 'core/verify/chain/evm-anchor',
    find: 'if (to !== sender || value !== 0n)',
    replace: 'if (value !== 0n)',
    tests: ['core/verify/chain/evm-anchor'],
  },
  {
    name: 'a transaction that pays is an anchor',
    module: 'core/verify/chain/evm-anchor',
    find: 'if (to !== sender || value !== 0n)',
    replace: 'if (to !== sender)',
    tests: ['core/verify/chain/evm-anchor'],
  },
  {
    name: 'a retry with the same idempotency key writes again',
    module: 'core/registry/write',
    find: 'return { result: use.replay };',
    replace: '{ }',
    tests: ['core/registry/context'],
  },
  {
    name: 'a file can be used by two writes',
    module: 'core/store/blob-lifecycle',
    find: 'checks: blobs.map(({ id, intent }) => ({ key: keys.blobIntent(id), version: intent })),',
    replace: 'checks: [],',
    tests: ['core/registry/files'],
  },
  {
    name: 'abandoned uploads are never swept',
    module: 'core/store/blob-lifecycle',
    find: 'if (isAbandoned)',
    replace: NEVER,
    tests: ['core/registry/crash'],
  },
  {
    name: 'a checkpoint is signed without noting it first',
    module: 'sealer/batch-sealer',
    find: 'await signedHead.write({ size: head.size, root });',
    replace: 'void root;',
    tests: ['sealer/seal'],
  },
  {
    name: 'a source system works in every company',
    module: 'core/registry/permissions',
    find: "if ('companyId' in principal && principal.companyId !== companyId)",
    replace: NEVER,
    tests: ['core/registry/authorization'],
  },
  {
    name: 'every level permits everything',
    module: 'core/registry/permissions',
    find: 'LEVELS.indexOf(granted) >= LEVELS.indexOf(needed)',
    replace: 'LEVELS.indexOf(granted) >= 0',
    tests: ['core/registry/authorization'],
  },
  {
    name: 'the store continues after a failed write',
    module: 'adapters/level/records',
    find: 'this.#poison = { cause };',
    replace: 'void cause;',
    tests: ['adapters/level/faults'],
  },
  {
    name: 'an anchor is sent before it is stored',
    module: 'sealer/anchorer',
    find: 'await this.#store(head, anchor, { ...head.record, outstanding: anchor.size });',
    replace: `await this.#anchor.broadcast(preparedOf(lastTransactionOf(anchor)).raw, signal);
        await this.#store(head, anchor, { ...head.record, outstanding: anchor.size });`,
    tests: ['sealer/anchor'],
  },
  {
    name: 'a list of PostgreSQL skips keys such as A%20B after A at the end of a page',
    module: 'adapters/postgres/reader',
    find: 'gte = `${keyText(last[0])}\\0`;',
    replace: 'gte = `${keyText(last[0])}&`;',
    tests: ['adapters/postgres/records'],
  },
]
