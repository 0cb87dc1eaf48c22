import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isRegistryError } from '../../../core/errors.ts'
import type { StagedFile, WriteOptions } from '../../../core/index.ts'
import type { When } from '../../support/crashable-process.ts'
import { openFixture, Stores, type Fixture } from '../../support/registry-fixture.ts'
import { recompute } from '../../support/commitment-reference.ts'

/**
 * Crashes at every step of every operation, before or after the step was applied. What was acknowledged exists, an
 * operation is applied completely or not at all, nothing is left behind, and a retry gives the same result.
 */

interface Operation {
  readonly name: string
  readonly prepare?: (fixture: Fixture) => Promise<void>
  /** Does what a caller does: stages files, writes, and discards the files if the write fails. */
  readonly run: (fixture: Fixture, options: WriteOptions) => Promise<unknown>
  /** The error of a retry without an idempotency key after the operation has succeeded. */
  readonly doneCode?: string
}

async function withFiles<T>(
  fixture: Fixture,
  contents: readonly string[],
  use: (files: readonly StagedFile[]) => Promise<T>,
): Promise<T> {
  const staged: StagedFile[] = []
  try {
    for (const content of contents) staged.push(await fixture.stage(content, `${content}.txt`))
    return await use(staged)
  } finally {
    // Also after a success: used files are not discarded, and a repeated call has used none.
    await fixture.registry.files.discard(staged)
  }
}

const names = { category: { name: 'C' }, subcategory: { name: 'S' } }
const ids = async ({ registry: { categories }, scope }: Fixture) => {
  const [category] = await categories.list(scope)
  return {
    category: category?.id ?? 'gone',
    subcategory: category?.subcategories[0]?.id ?? 'gone',
    image: category?.imageId ?? 'gone',
  }
}
const category = (fixture: Fixture) =>
  withFiles(fixture, ['icon'], ([image]) =>
    fixture.registry.categories.create(fixture.scope, { name: 'C', ...(image && { image }) }),
  )
const subcategory = async (fixture: Fixture) =>
  void (await fixture.registry.categories.createSubcategory(fixture.scope, (await ids(fixture)).category, {
    name: 'S',
  }))
const evidence = (fixture: Fixture, options: WriteOptions = {}) =>
  withFiles(fixture, ['image', 'one', 'two'], ([image, ...files]) =>
    fixture.registry.evidences.create(
      fixture.scope,
      { ...names, externalId: 'a', name: 'a', owner: 'Ada', ...(image && { image }), files },
      options,
    ),
  )

const operations: readonly Operation[] = [
  {
    name: 'creating a company with its first source system',
    run: ({ registry: { sourceSystems }, scope: { principal } }, options) =>
      sourceSystems.create({ companyId: 'new', principal }, { name: 'x', apiKey: 'a-key-of-its-own-x' }, options),
  },
  {
    name: 'creating a category with an image',
    run: (fixture, options) =>
      withFiles(fixture, ['icon'], ([image]) =>
        fixture.registry.categories.create(fixture.scope, { name: 'C', ...(image && { image }) }, options),
      ),
  },
  {
    name: 'replacing the image and name of a category',
    prepare: async (fixture) => void (await category(fixture)),
    run: async (fixture, options) => {
      const { category: id } = await ids(fixture)
      return withFiles(fixture, ['new icon'], ([image]) =>
        fixture.registry.categories.update(fixture.scope, id, { name: 'D', ...(image && { image }) }, options),
      )
    },
  },
  {
    name: 'removing a subcategory and then its category',
    prepare: async (fixture) => {
      await category(fixture)
      await subcategory(fixture)
    },
    run: async (fixture, options) => {
      const { categories } = fixture.registry
      const at = await ids(fixture)
      if (at.subcategory !== 'gone')
        await categories.removeSubcategory(fixture.scope, { categoryId: at.category, subcategoryId: at.subcategory })
      return categories.remove(fixture.scope, at.category, options)
    },
    doneCode: 'CATEGORY_NOT_FOUND',
  },
  {
    name: 'deleting the image of a category',
    prepare: async (fixture) => void (await category(fixture)),
    run: async (fixture) => fixture.registry.files.delete(fixture.scope, { fileId: (await ids(fixture)).image }),
    doneCode: 'FILE_NOT_FOUND',
  },
  { name: 'creating an evidence with files in a new category', run: evidence },
  {
    name: 'creating evidences in bulk',
    prepare: async (fixture) => {
      await category(fixture)
      await subcategory(fixture)
    },
    run: async (fixture, options) => {
      const at = await ids(fixture)
      const inputs = ['x', 'y', 'z'].map((name) => ({ externalId: name, name }))
      return fixture.registry.evidences.createMany(
        fixture.scope,
        { categoryId: at.category, subcategoryId: at.subcategory, evidences: inputs },
        options,
      )
    },
  },
  {
    name: 'updating an evidence: content, owner and files',
    prepare: async (fixture) => void (await evidence(fixture)),
    run: (fixture, options) =>
      withFiles(fixture, ['three', 'four'], (files) =>
        fixture.registry.evidences.update(fixture.scope, 'a', { description: 'new', owner: 'Grace', files }, options),
      ),
  },
  {
    name: 'deleting a file of an evidence',
    prepare: async (fixture) => void (await evidence(fixture)),
    run: async ({ registry: { files, evidences }, scope }) => {
      const { evidence: attached } = await evidences.files(scope, 'a')
      return files.delete(scope, { fileId: attached.find(({ name }) => name === 'one.txt')?.id ?? 'gone' })
    },
    doneCode: 'FILE_NOT_FOUND',
  },
  {
    name: 'staging a file and discarding it',
    run: (fixture) => withFiles(fixture, ['unused'], async () => undefined),
  },
]

/**
 * Everything that can be read of a registry, without ids and hashes, which differ between attempts. Recomputes every
 * txId.
 */
async function viewOf({ registry, scope, stores }: Fixture): Promise<string> {
  const { categories, evidences, sourceSystems } = registry
  const seen: unknown[] = [await stores.keysOf('co')]
  for (const { name } of await sourceSystems.list(scope)) seen.push(name)
  const listed = await categories.list(scope)
  for (const { path, status, evidenceCount, imageId, files, subcategories } of listed) {
    const below = subcategories.map((sub) => [sub.path, sub.evidenceCount])
    seen.push([path, status, evidenceCount, imageId !== undefined, files.map(({ name }) => name), below])
  }
  const { items, count } = await evidences.list(scope)
  seen.push(count)
  for (const { externalId, eventCounts } of items) {
    const { evidence: stored, events } = await evidences.get(scope, externalId, { disclose: true })
    for (const { disclosure, txId } of events)
      assert.equal(recompute(disclosure as NonNullable<typeof disclosure>).txId, txId)
    const { evidence: attached } = await evidences.files(scope, externalId)
    const history = events.map(({ type, updateType, version, owner }) => [type, updateType, version, owner])
    seen.push([externalId, stored.description, stored.owner, stored.image !== undefined, eventCounts, history])
    seen.push(attached.map(({ name, eventVersion }) => [name, eventVersion]))
  }
  return JSON.stringify([...seen, await stores.records.logSize()])
}

const options: WriteOptions = { idempotencyKey: 'k' }

/** A process with new stores in which the operation can run. */
async function ready({ prepare }: Operation): Promise<Fixture> {
  const fixture = await openFixture()
  await prepare?.(fixture)
  fixture.process.disarm()
  return fixture
}

/** The next process with the same stores, after its first sweep. */
async function restarted({ stores, close }: Fixture): Promise<Fixture> {
  await close().catch(() => undefined)
  await stores.clock.advance(1)
  return openFixture({ stores })
}

/** What exists after the crash, and after a retry. */
async function crash(operation: Operation, step: number, when: When) {
  const fixture = await ready(operation)
  fixture.process.fail(step, when, true)
  const isAcknowledged = await operation.run(fixture, options).then(
    () => true,
    (error: unknown) => {
      assert.ok(isRegistryError(error, 'UNAVAILABLE') || isRegistryError(error, 'UNKNOWN_OUTCOME'), String(error))
      return false
    },
  )
  const next = await restarted(fixture)
  const swept = await next.stores.blobState()
  const view = await viewOf(next)
  await operation.run(next, options).catch((error: unknown) => {
    assert.equal((error as { code?: string }).code, operation.doneCode, String(error))
  })
  const retried = await viewOf(next)
  const afterRetry = await next.stores.blobState()
  await next.close()
  return { isAcknowledged, swept, view, retried, afterRetry }
}

for (const operation of operations)
  describe(`a process that crashes while ${operation.name}`, () => {
    it('loses nothing that was acknowledged, leaves nothing behind, and a retry gives the same result', async () => {
      const fixture = await ready(operation)
      const before = await viewOf(fixture)
      await operation.run(fixture, options)
      const { steps } = fixture.process
      const after = await viewOf(fixture)
      await fixture.close()
      assert.ok(steps > 0)
      // An operation with two writes has one state in between.
      const between = new Set<string>()
      for (let step = 1; step <= steps; step++)
        for (const when of ['before', 'after'] as const) {
          const moment = `crash ${when} step ${step} of ${steps}`
          const { isAcknowledged, swept, view, retried, afterRetry } = await crash(operation, step, when)
          if (isAcknowledged) assert.equal(view, after, moment)
          if (view !== before && view !== after) between.add(view)
          assert.equal(retried, after, moment)
          for (const state of [swept, afterRetry])
            assert.deepEqual(
              state,
              { intents: 0, pendingDeletions: 0, files: state.stored, stored: state.stored },
              moment,
            )
        }
      assert.ok(between.size <= (operation.name.includes('and then') ? 1 : 0), [...between].join('\n'))
    })
  })

describe('a step that fails once in a process that continues', () => {
  for (const operation of operations)
    it(`leaves nothing that a sweep does not remove: ${operation.name}`, async () => {
      const fixture = await ready(operation)
      const before = await viewOf(fixture)
      await operation.run(fixture, options)
      const { steps } = fixture.process
      const after = await viewOf(fixture)
      await fixture.close()
      for (let step = 1; step <= steps; step++)
        for (const when of ['before', 'after'] as const) {
          const continuing = await ready(operation)
          continuing.process.fail(step, when)
          await operation.run(continuing, options).catch(() => undefined)
          continuing.process.disarm()
          await operation.run(continuing, options).catch((error: unknown) => {
            assert.equal((error as { code?: string }).code, operation.doneCode, `${when} ${step}: ${String(error)}`)
          })
          assert.equal(await viewOf(continuing), after, `failed ${when} step ${step}`)
          assert.notEqual(before, operation.name.startsWith('staging') ? '' : after)
          await continuing.wait(26)
          const state = await continuing.stores.blobState()
          assert.deepEqual(
            state,
            { intents: 0, pendingDeletions: 0, files: state.stored, stored: state.stored },
            `${when} ${step}`,
          )
          await continuing.close()
        }
    })
})

it('the stores report every blob, so that a leftover is noticed', async () => {
  const stores = new Stores()
  await stores.blobs.put('left', (async function* () {})(), { maxBytes: 1 })
  assert.deepEqual((await stores.blobState()).stored, ['left'])
})
