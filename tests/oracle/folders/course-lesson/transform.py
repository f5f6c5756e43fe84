def get_transform(output, context):
    try:
        return output.split("<categories>")[1].split("</categories>")[0].strip()
    except Exception as error:
        print(f"Error in get_transform: {error}")
        return output
