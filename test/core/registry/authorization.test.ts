import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { PermissionLevel, Registry, Scope } from '../../../core/index.ts'
import { inCategory, it, type Fixture } from '../../support/registry-fixture.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

const LEVELS: readonly PermissionLevel[] = ['R', 'I', 'U', 'A']
const NO_ID = '01890000-0000-7000-8000-000000000000'
const path = { categoryId: NO_ID, subcategoryId: NO_ID }

type Operation = (registry: Registry, scope: Scope, fixture: Fixture) => Promise<unknown>

/** Every operation that has a scope, with the level that it requires. */
const operations: Readonly<Record<string, readonly [PermissionLevel, Operation]>> = {
  'sourceSystems.create': ['A', ({ sourceSystems }, scope) => sourceSystems.create(scope, { name: 'x' })],
  'sourceSystems.update': ['A', ({ sourceSystems }, scope) => sourceSystems.update(scope, NO_ID, { active: true })],
  'sourceSystems.list': ['A', ({ sourceSystems }, scope) => sourceSystems.list(scope)],
  'sourceSystems.get': ['A', ({ sourceSystems }, scope) => sourceSystems.get(scope, NO_ID)],
  'sourceSystems.self': ['R', ({ sourceSystems }, scope) => sourceSystems.self(scope)],
  'sourceSystems.audit': ['A', ({ sourceSystems }, scope) => sourceSystems.audit(scope)],
  'categories.create': ['I', ({ categories }, scope) => categories.create(scope, { name: 'x' })],
  'categories.list': ['R', ({ categories }, scope) => categories.list(scope)],
  'categories.get': ['R', ({ categories }, scope) => categories.get(scope, { categoryId: NO_ID })],
  'categories.update': ['U', ({ categories }, scope) => categories.update(scope, { categoryId: NO_ID }, {})],
  'categories.remove': ['U', ({ categories }, scope) => categories.remove(scope, { categoryId: NO_ID })],
  'categories.files': ['R', ({ categories }, scope) => categories.files(scope, path)],
  'evidences.create': [
    'I',
    ({ evidences }, scope) => evidences.create(scope, { ...inCategory('C', 'S'), externalId: 'x', name: 'x' }),
  ],
  'evidences.createMany': [
    'I',
    ({ evidences }, scope) => evidences.createMany(scope, { ...path, evidences: [{ externalId: 'y', name: 'y' }] }),
  ],
  'evidences.list': ['R', ({ evidences }, scope) => evidences.list(scope)],
  'evidences.listIfChanged': ['R', ({ evidences }, scope) => evidences.listIfChanged(scope, {}, undefined)],
  'evidences.all': [
    'R',
    async ({ evidences }, scope) => {
      for await (const { id } of evidences.all(scope)) return id
      return undefined
    },
  ],
  'evidences.get': ['R', ({ evidences }, scope) => evidences.get(scope, 'e-1')],
  'evidences.getIfChanged': ['R', ({ evidences }, scope) => evidences.getIfChanged(scope, 'e-1', {}, undefined)],
  'evidences.update': ['U', ({ evidences }, scope) => evidences.update(scope, 'e-1', { updateType: 'repair' })],
  'evidences.erase': [
    'A',
    ({ evidences }, scope) => evidences.erase(scope, 'e-1', { fields: ['owner'], reason: 'request' }),
  ],
  'evidences.eraseSubject': [
    'A',
    ({ evidences }, scope) => evidences.eraseSubject(scope, { subject: 'Ada', reason: 'request' }),
  ],
  'evidences.erasure': ['A', ({ evidences }, scope) => evidences.erasure(scope, NO_ID)],
  'evidences.erasures': ['A', ({ evidences }, scope) => evidences.erasures(scope)],
  'evidences.files': ['R', ({ evidences }, scope) => evidences.files(scope, 'e-1')],
  'evidences.overview': ['R', ({ evidences }, scope) => evidences.overview(scope)],
  'evidences.events': ['R', ({ evidences }, scope) => evidences.events(scope)],
  'evidences.nextEvent': ['R', ({ evidences }, scope) => evidences.nextEvent(scope, 'latest', AbortSignal.abort())],
  'evidences.entriesAfter': ['R', ({ evidences }, scope) => evidences.entriesAfter(scope)],
  'files.stage': [
    'I',
    ({ files }, scope) =>
      files.stage(scope, { name: 'a', mimeType: 'a/b', body: (async function* () {})() }, { maxBytes: 1 }),
  ],
  'files.find': ['R', ({ files }, scope) => files.find(scope, { fileId: NO_ID })],
  'files.delete': ['U', ({ files }, scope) => files.delete(scope, { fileId: NO_ID })],
  'files.createToken': ['R', ({ files }, scope) => files.createToken(scope, NO_ID)],
  'proofs.bundle': [
    'R',
    ({ proofs }, scope) => proofs.bundle(scope, { externalId: 'e-1', fields: 'none', files: 'none' }),
  ],
  'proofs.exportCompany': ['R', ({ proofs }, scope) => proofs.exportCompany(scope).next()],
}

const codeOf = (operation: Promise<unknown>): Promise<string | undefined> =>
  operation.then(
    () => undefined,
    (error: unknown) => (error as { code?: string }).code,
  )

describe('authorization', () => {
  it('covers every operation that has a scope', async ({ registry }) => {
    const { companies, sourceSystems, categories, evidences, files, proofs } = registry
    const names = Object.entries({ companies, sourceSystems, categories, evidences, files, proofs }).flatMap(
      ([group, members]) => Object.keys(members).map((name) => `${group}.${name}`),
    )
    const withoutScope = new Set([
      // Of the operator, in no company.
      'companies.list',
      'sourceSystems.authenticate',
      'sourceSystems.hasOperatorKey',
      'sourceSystems.setOperatorKey',
      'files.discard',
      'files.read',
      'files.authenticateToken',
      // For anyone.
      'evidences.publicStatus',
      'proofs.validate',
      'proofs.evidence',
      'proofs.evidenceIfChanged',
      'proofs.file',
      'proofs.transaction',
      'proofs.tlogProof',
      'proofs.root',
      'proofs.timestampToken',
      'proofs.publicBundle',
      'proofs.eventBundle',
    ])
    assert.deepEqual(Object.keys(operations).sort(), names.filter((name) => !withoutScope.has(name)).sort())
  })

  it('requires the level of each operation, in the own company', async (fixture) => {
    const { registry, system, evidence } = fixture
    await evidence()
    const scopes: Scope[] = []
    for (const level of LEVELS) scopes.push((await system(level)).scope)
    const none: Scope = { companyId: 'acme', principal: { kind: 'anonymous' } }
    const unknown = { companyId: 'acme', principal: { kind: 'admin' } } as unknown as Scope
    for (const [name, [needed, run]] of Object.entries(operations)) {
      for (const [i, scope] of scopes.entries()) {
        const isForbidden = (await codeOf(run(registry, scope, fixture))) === 'FORBIDDEN'
        assert.equal(isForbidden, i < LEVELS.indexOf(needed), `${name} with level ${LEVELS[i]}`)
        const elsewhere = { ...scope, companyId: 'other' }
        await rejectsWith('FORBIDDEN', run(registry, elsewhere, fixture), `${name} in another company`)
      }
      for (const scope of [none, unknown]) await rejectsWith('FORBIDDEN', run(registry, scope, fixture), name)
    }
  })

  it('rejects a scope without a principal or with a malformed company', async (fixture) => {
    const {
      categories,
      scope: { principal },
    } = fixture
    for (const scope of [undefined, null, {}, { companyId: 'acme', principal: null }, { companyId: 'a b', principal }])
      await rejectsWith('VALIDATION_ERROR', async () => categories.list(scope as Scope))
  })

  it('lets a file token find its file, and nothing else', async (fixture) => {
    const { registry, scope, stage, evidence } = fixture
    const [file, other] = [await stage('one'), await stage('two')]
    await evidence({ files: [file, other] })
    const { token } = await registry.files.createToken(scope, file.id)
    const principal = await registry.files.authenticateToken({ companyId: 'acme', token })
    assert.ok(principal)
    const holder: Scope = { companyId: 'acme', principal }
    assert.equal((await registry.files.find(holder, { fileId: file.id })).sha256, file.sha256)
    await rejectsWith('FORBIDDEN', registry.files.find(holder, { fileId: other.id }))
    for (const [, run] of Object.values(operations)) await rejectsWith('FORBIDDEN', run(registry, holder, fixture))
  })
})
