import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  actorOf,
  assertAllowed,
  includes,
  levelOf,
  OPERATOR,
  type PermissionLevel,
} from '../../../core/registry/permissions.ts'

const LEVELS: readonly PermissionLevel[] = ['R', 'I', 'U', 'A']

describe('permissions', () => {
  it('include each other: R in I in U in A', () => {
    for (const [i, level] of LEVELS.entries())
      for (const [j, needed] of LEVELS.entries()) {
        assert.equal(includes(level, needed), i >= j, `${level} includes ${needed}`)
        const ask = (): void => assertAllowed({ kind: 'sourceSystem', id: 'x', permissions: level }, needed)
        if (i >= j) ask()
        else assert.throws(ask, { name: 'RegistryError', code: 'FORBIDDEN' })
      }
  })

  it('give the operator all of them', () => {
    assert.equal(levelOf(OPERATOR), 'A')
    for (const needed of LEVELS) assertAllowed(OPERATOR, needed)
  })

  it('name who acts: the source system by its id, or the operator', () => {
    assert.equal(actorOf(OPERATOR), 'operator')
    assert.equal(actorOf({ kind: 'sourceSystem', id: 'an-id', permissions: 'R' }), 'an-id')
  })
})
