import { useState } from 'preact/hooks'
import { FileField, Form, TextField, useForm, type TextProps } from '../components/form.tsx'
import { UploadProgress, useUpload } from '../components/upload.tsx'
import { useLoad } from '../components/use-load.ts'
import { withoutEmpty } from '../format.ts'
import { navigate } from '../router.ts'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'
import { ContentFields, parseMeta } from './evidence-fields.tsx'
import { forgetLeftList } from './use-evidences.ts'

const IMAGE_TYPES = 'image/png,image/jpeg,image/gif,image/webp'

const NEW_EVIDENCE = {
  categoryName: '',
  subcategoryName: '',
  externalId: '',
  name: '',
  owner: '',
  description: '',
  summary: '',
  meta: '',
}

/** Creates an evidence. Values are checked by the API, whose messages appear at the fields. */
export function NewEvidencePage() {
  const t = texts.form
  const { client } = useSession()
  const form = useForm(NEW_EVIDENCE, ['image', 'images'])
  const { percent, upload } = useUpload()
  const { values, props } = form
  const [image, setImage] = useState<File>()
  const [images, setImages] = useState<readonly File[]>([])
  const create = async (): Promise<void> => {
    const { externalId, name, meta: metaText, ...rest } = values
    const meta = parseMeta(metaText)
    const files = { ...(image && { image }), ...(images.length > 0 && { images }) }
    const evidence = { externalId, name, ...withoutEmpty(rest), ...(meta && { meta }), ...files }
    const hasFiles = Object.keys(files).length > 0
    await upload((options) => client.createEvidence(evidence, hasFiles ? options : {}))
    forgetLeftList(client)
    navigate(['evidences', externalId])
  }
  return (
    <div class="narrow">
      <h1>{t.createTitle}</h1>
      <div class="card">
        <Form form={form} action={create} submitText={t.submitCreate} onCancel={() => history.back()}>
          <CategoryFields category={props('categoryName')} subcategory={props('subcategoryName')} />
          <TextField label={texts.evidences.externalId} {...props('externalId')} />
          <TextField label={texts.evidences.name} {...props('name')} />
          <TextField label={texts.evidences.owner} {...props('owner')} />
          <ContentFields props={props} />
          <FileField
            label={t.image}
            accept={IMAGE_TYPES}
            onChange={([file]) => setImage(file)}
            problem={form.problemOf('image')}
          />
          <FileField label={t.files} isMultiple onChange={setImages} problem={form.problemOf('images')} />
          <UploadProgress percent={percent} />
        </Form>
      </div>
    </div>
  )
}

/** The names of a category and a subcategory, with those that exist as suggestions. */
function CategoryFields({ category, subcategory }: { readonly category: TextProps; readonly subcategory: TextProps }) {
  const t = texts.form
  const { client } = useSession()
  const { loaded } = useLoad((signal) => client.listCategories({}, { signal }), [client])
  const categories = loaded.state === 'done' ? loaded.value.categories : []
  const chosen = categories.find(({ name }) => name === category.value)
  const namesOf = (named: readonly { readonly name: string }[] = []): readonly string[] => named.map(({ name }) => name)
  return (
    <>
      <TextField label={t.categoryName} hint={t.categoryHint} suggestions={namesOf(categories)} {...category} />
      <TextField
        label={t.subcategoryName}
        hint={t.categoryHint}
        suggestions={namesOf(chosen?.subcategories)}
        {...subcategory}
      />
    </>
  )
}
