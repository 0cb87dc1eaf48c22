import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CompanyId, FileId, PermissionLevel, Principal, Scope, SourceSystemId } from '../../../core/index.ts'
import { authorize, authorizeFile, OPERATOR, permits } from '../../../core/registry/permissions.ts'

const LEVELS: readonly PermissionLevel[] = ['R', 'I', 'U', 'A']
const companyId = 'acme' as CompanyId
const fileId = '01890000-0000-7000-8000-000000000000' as FileId
const systemWith = (permissions: PermissionLevel): Principal => ({
  kind: 'sourceSystem',
  id: 'an-id' as SourceSystemId,
  companyId,
  permissions,
})
const scopeOf = (principal: Principal): Scope => ({ companyId, principal })
const FORBIDDEN = { name: 'RegistryError', code: 'FORBIDDEN' }

describe('permissions', () => {
  it('include each other: R in I in U in A', () => {
    for (const [i, level] of LEVELS.entries())
      for (const [j, needed] of LEVELS.entries()) {
        assert.equal(permits(systemWith(level), needed), i >= j, `${level} includes ${needed}`)
        const check = () => authorize(scopeOf(systemWith(level)), needed)
        if (i >= j) check()
        else assert.throws(check, FORBIDDEN)
      }
  })

  it('give the operator all of them, in every company', () => {
    for (const needed of LEVELS) {
      assert.equal(permits(OPERATOR, needed), true)
      authorize(scopeOf(OPERATOR), needed)
      authorize({ companyId: 'other', principal: OPERATOR }, needed)
    }
  })

  it('name the actor: the source system by its id, or the operator', () => {
    assert.equal(authorize(scopeOf(OPERATOR), 'R').actor, 'operator')
    assert.equal(authorize(scopeOf(systemWith('R')), 'R').actor, 'an-id')
  })

  it('hold in the own company only', () => {
    for (const needed of LEVELS)
      assert.throws(() => authorize({ companyId: 'other', principal: systemWith('A') }, needed), FORBIDDEN)
  })

  it('let a file token find its own file in its own company, and nothing else', () => {
    const principal: Principal = { kind: 'fileToken', companyId, fileId }
    assert.equal(authorizeFile(scopeOf(principal), fileId).companyId, companyId)
    for (const level of LEVELS) assert.throws(() => authorize(scopeOf(principal), level), FORBIDDEN)
    assert.throws(() => authorizeFile(scopeOf(principal), 'another-file'), FORBIDDEN)
    assert.throws(() => authorizeFile({ companyId: 'other', principal }, fileId), FORBIDDEN)
  })

  it('let an anonymous principal do nothing that has a scope', () => {
    const anonymous = scopeOf({ kind: 'anonymous' })
    for (const level of LEVELS) {
      assert.equal(permits(anonymous.principal, level), false)
      assert.throws(() => authorize(anonymous, level), FORBIDDEN)
    }
    assert.throws(() => authorizeFile(anonymous, fileId), FORBIDDEN)
  })

  it('reject a principal of an unknown kind, and a scope without a principal or with a malformed company', () => {
    assert.throws(() => authorize(scopeOf({ kind: 'admin' } as never), 'R'), FORBIDDEN)
    for (const scope of [
      undefined,
      null,
      {},
      { companyId },
      { companyId, principal: null },
      { companyId: 'a b', principal: OPERATOR },
    ])
      assert.throws(() => authorize(scope as never, 'R'), { code: 'VALIDATION_ERROR' })
  })
})
