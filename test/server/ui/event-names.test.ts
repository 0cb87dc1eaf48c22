import assert from 'node:assert/strict'
import { it } from 'node:test'
import { uiModule } from '../../support/ui-module.ts'

it('every field has a name, also one without a name and one that is named as a member of every object', async () => {
  const ui = await uiModule<{ fieldName(field: string): string }>('event-names.ts')
  assert.deepEqual(
    ['owner', 'mileage.value', '', ' ', 'Serial No.', 'toString'].map((field) => ui.fieldName(field)),
    ['Owner', 'mileage.value', '(no name)', '(no name)', 'Serial No.', 'toString'],
  )
})
